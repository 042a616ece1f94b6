"""How citations dress a label: a document type behind it, as in `…/2009/09.09.22.01-RPQ`."""

import re
from typing import Final

_DOCUMENT_TYPE: Final = re.compile(r"(?P<label>[^/]+/[^/]+(?:/[^/]+/[^/]+)?)-(?P<kind>[A-Z]{2,5})")


def split_document_type(text: str) -> tuple[str, str | None]:
    """The label, and the document type that a citation put behind it (None if there is none).

    >>> split_document_type("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    ('iconet.com.br/banon/2009/09.09.22.01', 'RPQ')
    """
    match = _DOCUMENT_TYPE.fullmatch(text)
    return (match["label"], match["kind"]) if match else (text, None)
