"""The frame of every response (section 3.2)."""

from collections.abc import Mapping
from typing import Final

from perdure.http.oai_pmh.protocol_errors import ProtocolError
from perdure.http.oai_pmh.xml_text import element, enclose

_NAMESPACE: Final = "http://www.openarchives.org/OAI/2.0/"
_ROOT: Final = {
    "xmlns": _NAMESPACE,
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsi:schemaLocation": f"{_NAMESPACE} {_NAMESPACE}OAI-PMH.xsd",
}
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'


def write_document(at: str, base: str, arguments: Mapping[str, str], body: str) -> str:
    """Return a response: its date, the request that it answers, and its content."""
    head = element("responseDate", at) + element("request", base, **arguments)
    return _DECLARATION + enclose("OAI-PMH", head + body, **_ROOT) + "\n"


def write_error(error: ProtocolError) -> str:
    """Return the element of an error."""
    return element("error", f"{error.reason}.", code=error.code)
