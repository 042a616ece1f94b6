"""The registry over HTTP: the resolver, the interface that Handle clients know, and Perdure's own."""
