"""What a client requests of an item: the page, a description, the zip file, or a version."""

from enum import Enum
from typing import Final

from perdure.errors import quote_text
from perdure.http.shared.http_errors import MalformedRequest, NotAcceptable
from perdure.http.shared.negotiation import best_media_type
from perdure.http.shared.query_string import parse_query, single_parameter
from perdure.http.shared.request import Request

_LONGEST_VERSION: Final = 9  # digits
_LONGEST_PATH: Final = 4_096


class Form(Enum):
    """A form in which an item is available."""

    PAGE = "text/html"
    JSON = "application/json"
    ZIP = "application/zip"


FORM_OF_ENDING: Final = {"json": Form.JSON, "zip": Form.ZIP}
CITATION_ENDINGS: Final = {
    "application/x-bibtex": "bib",
    "application/x-research-info-systems": "ris",
    "application/vnd.citationstyles.csl+json": "csl.json",
}
_OFFERED: Final = tuple(form.value for form in Form)


def requested_form(request: Request) -> Form | str:
    """Return the form that the client prefers; for a citation, the ending of its address."""
    accept = request.header_list(b"accept")
    if not accept:
        return Form.PAGE
    media = best_media_type(accept, (*_OFFERED, *CITATION_ENDINGS))
    if media is None:
        raise NotAcceptable((*_OFFERED, *CITATION_ENDINGS))
    return CITATION_ENDINGS.get(media) or Form(media)


def requested_version(request: Request) -> int | None:
    """Return the number of the version in the query; None for the newest one."""
    text = single_parameter(parse_query(request.query), "version") if request.query else None
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_VERSION and int(text)):
        raise MalformedRequest(f"the version {quote_text(text)} is not a number from 1")
    return int(text)


def requested_start(request: Request) -> str:
    """Return the path after which the list of files on a page begins."""
    text = single_parameter(parse_query(request.query), "after") if request.query else None
    if text is not None and len(text) > _LONGEST_PATH:
        raise MalformedRequest(f"the parameter after is longer than {_LONGEST_PATH} characters")
    return text or ""
