"""The use cases of a registry on another machine: requests to its API, with the signatures of the local functions."""
