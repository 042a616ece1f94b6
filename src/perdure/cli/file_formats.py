"""Files that commands read and write: formats, delimiters, and SHA-256 digests."""

from enum import StrEnum
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final, TypeVar

from perdure.cli.terminal import open_standard_input
from perdure.errors import InvalidInput


class ImportFormat(StrEnum):
    """Formats of `perdure import`."""

    ndjson = "ndjson"
    csv = "csv"
    batch = "batch"
    handles = "handles"
    dspace = "dspace"
    urlib = "urlib"
    labels = "labels"


class IdentifierFormat(StrEnum):
    """Formats of `perdure export`."""

    ndjson = "ndjson"
    csv = "csv"
    batch = "batch"
    handles = "handles"
    labels = "labels"


class ObservationFormat(StrEnum):
    """Formats of `perdure person import`."""

    ndjson = "ndjson"
    csv = "csv"


class PersonFormat(StrEnum):
    """Formats of `perdure person export`."""

    nt = "nt"
    ttl = "ttl"
    jsonld = "jsonld"
    ndjson = "ndjson"


F = TypeVar("F", bound=StrEnum)

_SUFFIXES: Final[dict[type[StrEnum], dict[str, str]]] = {
    ImportFormat: {".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".tsv": "csv", ".txt": "batch"},
    IdentifierFormat: {".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".txt": "batch"},
    ObservationFormat: {".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".tsv": "csv"},
    PersonFormat: {".nt": "nt", ".ttl": "ttl", ".jsonld": "jsonld", ".ndjson": "ndjson"},
}


def format_from_suffix(file: Path | None, formats: type[F]) -> F:
    """Return the format that belongs to the suffix of a file name."""
    name = None if file is None else _SUFFIXES[formats].get(file.suffix.lower())
    if name is None:
        known = [one.value for one in formats]
        reason = f"the format is not known from the file name: add --format {', '.join(known[:-1])} or {known[-1]}"
        raise InvalidInput("file", "format", reason)
    return formats(name)


def parse_delimiter(text: str, scheme: str) -> str:
    """Parse the value of `--delimiter`: one character, or the word tab."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        reason = "the delimiter must be one character, not a quotation mark, or the word tab"
        raise InvalidInput(scheme, "delimiter", reason)
    return delimiter


def hash_file(path: Path) -> str:
    """Return the SHA-256 digest of a file, or of standard input for `-`."""
    if str(path) == "-":
        return sha256(open_standard_input("the content").read()).hexdigest()
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
