"""Domains, tasks, and the views that training takes of them."""
