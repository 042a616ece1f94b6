"""Perdure's own interface."""

from perdure.http.service import Service
from perdure.http.v1.door import OwnApi


def own_api(service: Service) -> OwnApi:
    """The application for every path under /api/v1."""
    return OwnApi(service)
