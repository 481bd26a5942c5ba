"""Backbones, heads, and whose statistics batch normalisation uses."""
