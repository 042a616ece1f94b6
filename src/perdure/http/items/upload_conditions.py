"""Preconditions of an upload to the path of a file: If-Match and If-None-Match, with the tags that downloads have."""

from contextlib import suppress
from pathlib import Path

from perdure.collections.storage_root import StorageRoot
from perdure.errors import NoSuchFile
from perdure.http.items.download_conditions import file_etag, matches_strongly
from perdure.http.shared.conditional import if_none_match_has
from perdure.http.shared.http_errors import PreconditionFailed
from perdure.http.shared.request import Request

_NO_FILE = "no such file"


def check_upload_conditions(request: Request, root: Path, label: str, path: str) -> int | None:
    """Return the version of the item that the conditions are true of, 0 if it has none; None without conditions.

    Raise PreconditionFailed if one is not true. The next version must follow the returned one: otherwise another
    client has changed the item after this check.
    """
    if_match, if_none_match = (request.header_list(name) for name in (b"if-match", b"if-none-match"))
    if if_match is None and if_none_match is None:
        return None
    collection = StorageRoot(root)
    version, etag = 0, None
    if collection.has_item(label):
        newest = collection.read_item(label).newest
        version = newest.number
        with suppress(NoSuchFile):
            etag = file_etag(newest.find_file(path)[1])
    if if_match is not None and (etag is None or not matches_strongly(if_match, etag)):
        raise PreconditionFailed(request.path, if_match, etag or _NO_FILE)
    if if_none_match is not None and etag is not None and if_none_match_has(if_none_match, etag):
        raise PreconditionFailed(request.path, f"none of {if_none_match}", etag)
    return version
