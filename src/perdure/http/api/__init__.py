"""Perdure's own HTTP API, under /api/v1."""
