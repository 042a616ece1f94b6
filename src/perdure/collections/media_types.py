"""Media types of files: what the ending of the name says, and for each object the exceptions from that.

Rows may be added to the table, and are never changed, because stored items rely on them. The exceptions are in an
extension directory of the object, because an OCFL inventory has no field for them.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

UNKNOWN: Final = "application/octet-stream"
EXTENSION: Final = "extensions/perdure-media-types"
BY_ENDING: Final[Mapping[str, str]] = {
    ".7z": "application/x-7z-compressed",
    ".aac": "audio/aac",
    ".avi": "video/x-msvideo",
    ".avif": "image/avif",
    ".bib": "application/x-bibtex",
    ".bmp": "image/bmp",
    ".bz2": "application/x-bzip2",
    ".css": "text/css",
    ".csv": "text/csv",
    ".doc": "application/msword",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".flac": "audio/flac",
    ".geojson": "application/geo+json",
    ".gif": "image/gif",
    ".gz": "application/gzip",
    ".h5": "application/x-hdf5",
    ".htm": "text/html",
    ".html": "text/html",
    ".ico": "image/vnd.microsoft.icon",
    ".ics": "text/calendar",
    ".jp2": "image/jp2",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": "application/json",
    ".jsonld": "application/ld+json",
    ".kml": "application/vnd.google-earth.kml+xml",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mid": "audio/midi",
    ".mkv": "video/matroska",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".mpeg": "video/mpeg",
    ".nc": "application/netcdf",
    ".nt": "application/n-triples",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ogg": "audio/ogg",
    ".opus": "audio/opus",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".ppt": "application/vnd.ms-powerpoint",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".ps": "application/postscript",
    ".rdf": "application/rdf+xml",
    ".ris": "application/x-research-info-systems",
    ".rtf": "application/rtf",
    ".svg": "image/svg+xml",
    ".tar": "application/x-tar",
    ".tex": "application/x-tex",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".tsv": "text/tab-separated-values",
    ".ttl": "text/turtle",
    ".txt": "text/plain",
    ".warc": "application/warc",
    ".wav": "audio/vnd.wave",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".xhtml": "application/xhtml+xml",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
    ".xz": "application/x-xz",
    ".yaml": "application/yaml",
    ".zip": "application/zip",
    ".zst": "application/zstd",
}


def guess_media_type(path: str) -> str:
    """Return the media type that the ending of a file name says.

    >>> guess_media_type("maps/Amazon.TIF"), guess_media_type("README")
    ('image/tiff', 'application/octet-stream')
    """
    return BY_ENDING.get(PurePosixPath(path).suffix.lower(), UNKNOWN)


class MediaTypes(msgspec.Struct, frozen=True):
    """The media types of a version that the names of the files do not say."""

    exceptions: dict[str, str] = {}

    def find(self, path: str) -> str:
        return self.exceptions.get(path) or guess_media_type(path)

    @classmethod
    def read(cls, directory: Path, number: int) -> "MediaTypes":
        """Read the media types of a version of the object in a directory."""
        try:
            return msgspec.json.decode((directory / name_of_record(number)).read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.MsgspecError):
            return cls()

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def name_of_record(number: int) -> str:
    """Return the path of the media types of a version, relative to its object."""
    return f"{EXTENSION}/v{number}.json"
