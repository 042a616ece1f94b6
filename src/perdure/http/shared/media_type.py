"""The media type of a request's body."""

from typing import Final

from perdure.http.shared.request import Request

FORM_URLENCODED: Final = "application/x-www-form-urlencoded"


def body_media_type(request: Request) -> str:
    """Return the Content-Type without its parameters, in lower case; empty if the header is missing."""
    return (request.header(b"content-type") or "").partition(";")[0].strip().lower()
