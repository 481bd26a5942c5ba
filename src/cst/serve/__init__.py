"""A model that answers: predictions over HTTP, and a page for people."""
