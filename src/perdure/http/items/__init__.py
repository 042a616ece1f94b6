"""Stored items over HTTP: their pages, files and descriptions, and uploads."""
