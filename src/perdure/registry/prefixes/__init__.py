"""Prefixes: the namespaces of a registry, and the 0.NA records that describe them."""
