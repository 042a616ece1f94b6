"""Document types that citations append to a label, as in `…/2009/09.09.22.01-RPQ`."""

import re
from collections.abc import Callable
from typing import Final

from perdure.errors import InvalidName
from perdure.names.ibi.label import check_text

_DOCUMENT_TYPE: Final = re.compile(r"(?P<label>[^/]+/[^/]+(?:/[^/]+/[^/]+)?)-(?P<kind>[A-Za-z]{2,5})")


def split_document_type(text: str) -> tuple[str, str | None]:
    """Return the label, and the document type that a citation appended (None if there is none).

    >>> split_document_type("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    ('iconet.com.br/banon/2009/09.09.22.01', 'RPQ')
    """
    check_text(text)
    match = _DOCUMENT_TYPE.fullmatch(text)
    return (match["label"], match["kind"]) if match else (text, None)


def refuse_document_type(text: str, parse: Callable[[str], object]) -> None:
    """Raise InvalidName for a document type, if the text has one and `parse` accepts the rest."""
    label, kind = split_document_type(text)
    if kind and split_document_type(label)[1] is None:
        parse(label)  # another error in the label is reported instead
        reason = f"a citation added the document type -{kind} to the label"
        raise InvalidName("ibi", "document type", len(label), reason, label)
