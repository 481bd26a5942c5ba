"""Processes that train one model together; each runs the same program, and the passes are divided between them."""
