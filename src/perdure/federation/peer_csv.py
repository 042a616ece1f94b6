"""The table of other servers as a CSV file: a row for each prefix and server.

>>> peer = Peer(name="inpe", url="https://id.example.org", prefixes=("ppid", "10.1000"))
>>> print(write_peers([peer]).decode(), end="")
prefix,url,name,key,private
ppid,https://id.example.org,inpe,,
10.1000,https://id.example.org,inpe,,
>>> parse_peers(write_peers([peer])) == [peer]
True
"""

import csv
import io
from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.errors import InvalidInput
from perdure.registry.entities import Peer
from perdure.registry.peers.peer_fields import (
    UPSTREAM,
    check_peer_name,
    check_public_key,
    default_peer_name,
    parse_peer_prefixes,
    parse_peer_url,
)

COLUMNS: Final = ("prefix", "url", "name", "key", "private")
_REQUIRED: Final = frozenset({"prefix", "url"})
_PRIVATE: Final = "yes"
_NOT_PRIVATE: Final = ("", "no")
LARGEST_FILE: Final = 16 << 20  # bytes


def write_peers(peers: Iterable[Peer]) -> bytes:
    """Write the table. A server without prefixes has one row, with an empty prefix."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for peer in peers:
        for prefix in peer.prefixes or ("",):
            writer.writerow((prefix, peer.url, peer.name, peer.key or "", _PRIVATE if peer.private else ""))
    return text.getvalue().encode()


def parse_peers(data: bytes) -> list[Peer]:
    """Parse the table. Only the columns `prefix` and `url` are required. Raise InvalidInput that names the line."""
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE >> 20} MB")
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        columns = reader.fieldnames or ()
        unknown = [column for column in columns if column not in COLUMNS]
        if unknown or not _REQUIRED.issubset(columns):
            raise ValueError(f"its first line must name these columns: {', '.join(COLUMNS)} (only two are required)")
        found: dict[str, Peer] = {}
        for row in reader:
            try:
                _add_row(found, row)
            except ValueError as problem:
                raise ValueError(f"line {reader.line_num}: {problem}") from None
    except (ValueError, csv.Error) as problem:
        raise InvalidInput("peers", "file", f"the table cannot be read: {problem}") from None
    return list(found.values())


def _add_row(found: dict[str, Peer], row: dict[str, str]) -> None:
    if None in row or None in row.values():
        raise ValueError("it does not have as many cells as the first line")
    if row.get("name") == UPSTREAM:
        return  # it is in the settings of the registry that was exported, and belongs into those of this one
    url = parse_peer_url(row["url"])
    key, private = row.get("key", "").strip(), row.get("private", "").strip().lower()
    if private not in (_PRIVATE, *_NOT_PRIVATE):
        raise ValueError(f"private must be {_PRIVATE} or empty, not {private!a}")
    prefixes = parse_peer_prefixes([row["prefix"]] if row["prefix"].strip() else [])
    peer = Peer(
        name=check_peer_name(row.get("name", "").strip() or default_peer_name(url)),
        url=url,
        key=check_public_key(key) if key else None,
        private=private == _PRIVATE,
    )
    before = found.setdefault(url, peer)
    if msgspec.structs.replace(before, prefixes=()) != peer:
        raise ValueError(f"{url} has another name, key or privacy in a line above")
    found[url] = msgspec.structs.replace(before, prefixes=tuple(dict.fromkeys((*before.prefixes, *prefixes))))
