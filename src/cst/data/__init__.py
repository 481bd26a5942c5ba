"""Domains, tasks, the readers of files, samples, and how inputs are augmented."""
