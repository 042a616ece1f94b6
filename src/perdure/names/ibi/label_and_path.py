"""Labels that are followed by the path of a file of their item, as links and addresses write them."""

from typing import Final

from perdure.errors import InvalidName
from perdure.names.ibi.citation import split_document_type
from perdure.names.ibi.legacy import parse_legacy
from perdure.names.ibi.opaque import parse_opaque
from perdure.names.ibi.repository import parse_repository

_REPOSITORY_PARTS: Final = 4
_OPAQUE_PARTS: Final = 2


def split_label_path(text: str) -> tuple[str, str] | None:
    """Return the label that a text begins with, and the path after it; None if it begins with none.

    >>> split_label_path("8JMKD3MGP8W/34PGRBS/doc/a.pdf"), split_label_path("20.500/thesis/a.pdf")
    (('8JMKD3MGP8W/34PGRBS', 'doc/a.pdf'), None)
    """
    parts = text.split("/")
    for count in (_REPOSITORY_PARTS, _OPAQUE_PARTS):
        label = "/".join(parts[:count])
        if len(parts) >= count and _is_label(label, count):
            return label, "/".join(parts[count:])
    return None


def _is_label(text: str, parts: int) -> bool:
    for parse in (parse_repository,) if parts == _REPOSITORY_PARTS else (parse_opaque, parse_legacy):
        try:
            parse(split_document_type(text)[0])
        except InvalidName:
            continue
        return True
    return False
