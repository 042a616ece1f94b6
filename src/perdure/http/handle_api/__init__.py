"""The HTTP API of Handle servers, as their clients know it."""
