"""The media type of a request's body."""

from perdure.http.shared.request import Request


def body_media_type(request: Request) -> str:
    """Return the Content-Type without its parameters, in lower case; empty if the header is missing."""
    return (request.header(b"content-type") or "").partition(";")[0].strip().lower()
