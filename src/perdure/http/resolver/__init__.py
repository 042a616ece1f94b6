"""The resolver: from a name to its target."""
