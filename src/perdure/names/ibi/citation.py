"""How citations dress a label: a document type behind it, as in `…/2009/09.09.22.01-RPQ`."""

import re
from collections.abc import Callable
from typing import Final

from perdure.errors import InvalidName
from perdure.names.ibi.label import check_text

_DOCUMENT_TYPE: Final = re.compile(r"(?P<label>[^/]+/[^/]+(?:/[^/]+/[^/]+)?)-(?P<kind>[A-Za-z]{2,5})")


def split_document_type(text: str) -> tuple[str, str | None]:
    """The label, and the document type that a citation put behind it (None if there is none).

    >>> split_document_type("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    ('iconet.com.br/banon/2009/09.09.22.01', 'RPQ')
    """
    check_text(text)
    match = _DOCUMENT_TYPE.fullmatch(text)
    return (match["label"], match["kind"]) if match else (text, None)


def refuse_document_type(text: str, parse: Callable[[str], object]) -> None:
    """Say that a document type is to blame, if it is: the label itself has none, and `parse` takes it."""
    label, kind = split_document_type(text)
    if kind and split_document_type(label)[1] is None:
        parse(label)  # if something else is wrong with it, that is what is said
        reason = f"a citation added the document type -{kind} to the label"
        raise InvalidName("ibi", "document type", len(label), reason, label)
