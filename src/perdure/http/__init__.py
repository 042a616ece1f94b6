"""The HTTP server of a registry: the resolver, the Handle API, and Perdure's own API."""
