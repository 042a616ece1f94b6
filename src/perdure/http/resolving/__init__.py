"""The resolver: from a name to where it leads."""

from perdure.http.resolving.resolver import resolve

__all__ = ["resolve"]
