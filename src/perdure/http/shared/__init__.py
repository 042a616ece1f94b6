"""The shared parts of `http`: requests, responses, caching headers, limits, logs."""
