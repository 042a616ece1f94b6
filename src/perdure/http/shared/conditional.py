"""Conditional requests and entity tags (RFC 9110, sections 8.8.3 and 13.1).

Every ETag of this server is written here, and every If-Match and If-None-Match is parsed here. Weak tags are accepted
everywhere, because versions are exact: a proxy that compresses a response weakens its tag.

>>> parse_etags('W/"3", "4-json"') == {"3", "4-json"}, parse_etags(" * ") is ANY_ETAG
(True, True)
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

from perdure.errors import Conflict
from perdure.http.shared.http_errors import MalformedRequest, PreconditionFailed, PreconditionRequired
from perdure.http.shared.request import Request
from perdure.registry.handles import Precondition

ANY_ETAG: Final = None  # the header is *
RECORD_SUFFIX: Final = "-record"  # of the tag of a whole record, as Handle clients read it

_ETAG: Final = re.compile(r'(?:W/)?"([^"]*)"')
_ETAGS: Final = re.compile(r'[\s,]*(?:(?:W/)?"[^"]*"[\s,]*)+')
_PRECONDITIONS: Final = (("if-match", True), ("if-none-match", False))  # of a write of a Handle client
_NO_VERSION: Final = 0  # which no identifier has
_RECORD_VERSION: Final = re.compile(r"([1-9][0-9]{0,8})" + RECORD_SUFFIX)


def version_etag(version: int) -> str:
    """Return the tag of a redirect, or of a resource of the API."""
    return f'"{version}"'


def chosen_target_etag(version: int, url: bytes) -> str:
    """Return the tag of a redirect to one of several targets, which depends on more than the version."""
    return f'"{version}-{sha256(url).hexdigest()[:12]}"'


def record_etag(version: int) -> str:
    """Return the tag of a whole record, as Handle clients read it."""
    return f'"{version}{RECORD_SUFFIX}"'


def format_etag(version: int, format_suffix: str) -> str:
    """Return the tag of an identifier in one of several formats."""
    return f'"{version}-{format_suffix}"'


def history_etag(version: int, media_type: str) -> str:
    """Return the tag of the list of a person's versions."""
    return f'"{version}-history-{_subtype(media_type)}"'


def superseded_etag(version: int, newest: int) -> str:
    """Return the tag of an old version of a person in the API, which also names the newest version."""
    return f'"{version}-{newest}"'


def document_etag(version: int, dependencies: object, media_type: str, part: str = "", after: str = "") -> str:
    """Return the tag of a person's document.

    It changes with the version, the format, and the `dependencies`: whatever else the document shows, or hides.
    """
    digest = sha256(repr(dependencies).encode()).hexdigest()[:12]
    before, behind = f"{part}-" if part else "", f"-{after}" if after else ""
    return f'"{version}.{digest}-{before}{_subtype(media_type)}{behind}"'


def digest_etag(digest: str) -> str:
    """Return the tag of a resource that has no version, from a digest of what it depends on."""
    return f'"{digest}"'


def content_etag(content: bytes) -> str:
    """Return the tag of a document that has no version, from its bytes."""
    return digest_etag(sha256(content).hexdigest()[:16])


def parse_etags(text: str) -> frozenset[str] | None:
    """Return the tags of a header without W/ and quotes, or ANY_ETAG for `*`. Raise ValueError for other text."""
    if text.strip() == "*":
        return ANY_ETAG
    if _ETAGS.fullmatch(text) is None:
        raise ValueError("not a list of entity tags")
    return frozenset(_ETAG.findall(text))


def is_not_modified(request: Request, etag: str) -> bool:
    """Return whether the client has the current representation already (If-None-Match)."""
    return if_none_match_has(request.header_list(b"if-none-match"), etag)


def if_none_match_has(header: str | None, etag: str) -> bool:
    """Return whether the tags of If-None-Match contain this one. A header that cannot be parsed contains none."""
    if header is None:
        return False
    try:
        tags = parse_etags(header)
    except ValueError:
        return False
    return tags is ANY_ETAG or etag[1:-1] in tags


def parse_if_match(header: str | None) -> str | None:
    """Return the one tag of a required If-Match, or ANY_ETAG."""
    if header is None:
        raise PreconditionRequired()
    text = header.strip()
    if text == "*":
        return ANY_ETAG
    tag = _ETAG.fullmatch(text)
    if tag is None:
        raise MalformedRequest('If-Match must be one ETag, as in "3", or *')
    return tag[1]


def parse_record_versions(header: str, name: str) -> frozenset[int] | None:
    """Return the versions of a record that the tags of a header name, or ANY_ETAG. Other tags match no version."""
    try:
        tags = parse_etags(header)
    except ValueError:
        raise MalformedRequest(f'{name} must be a list of ETags, as in "3-record", or *') from None
    if tags is ANY_ETAG:
        return ANY_ETAG
    return frozenset(int(match[1]) for tag in tags if (match := _RECORD_VERSION.fullmatch(tag)) is not None)


def reject_if_match(request: Request) -> None:
    """Refuse a condition on a resource that has no ETag: if it were ignored, the client would take it for met."""
    header = request.header_list(b"if-match")
    if header is not None and header.strip() != "*":
        raise PreconditionFailed(request.path, header, "a resource without an ETag")


@contextmanager
def expect_etag(if_match: str | None) -> Iterator[str | None]:
    """Yield the required tag of the resource that is changed inside the block, or ANY_ETAG.

    Raise PreconditionFailed if the resource has another tag.
    """
    etag = parse_if_match(if_match)
    with conflict_as_precondition_failed(etag is not ANY_ETAG):
        yield etag


@contextmanager
def expect_version(if_match: str | None) -> Iterator[int | None]:
    """Yield the required version of the resource, or None for any. Raise as expect_etag() does."""
    with expect_etag(if_match) as etag:
        yield None if etag is ANY_ETAG else _parse_version(etag)


@contextmanager
def expect_record_versions(request: Request) -> Iterator[Sequence[Precondition]]:
    """Yield the preconditions of a request, for the write inside the block. Raise PreconditionFailed if one fails.

    The registry checks them inside its transaction, so that no other write can come between the check and the write.
    """
    preconditions = [
        Precondition(parse_record_versions(header, name), must_match)
        for name, must_match in _PRECONDITIONS
        if (header := request.header_list(name.encode())) is not None
    ]
    with conflict_as_precondition_failed(bool(preconditions)):
        yield preconditions


@contextmanager
def conflict_as_precondition_failed(is_conditional: bool) -> Iterator[None]:
    """Raise PreconditionFailed for a Conflict of the registry, if the client has sent a condition.

    Versions are compared inside the transaction of the write, so only the registry can find that they differ.
    """
    try:
        yield
    except Conflict as problem:
        if not is_conditional or type(problem) is not Conflict:
            raise
        raise PreconditionFailed(problem.name, problem.expected, problem.found) from None


def _parse_version(etag: str) -> int:
    return int(etag) if etag.isascii() and etag.isdigit() and len(etag) < 10 else _NO_VERSION


def _subtype(media_type: str) -> str:
    return media_type.rpartition("/")[2]
