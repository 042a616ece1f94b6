"""Elements of XML as text. Characters that XML 1.0 does not allow, even escaped, are left out.

>>> element("dc:title", "a < b & \\x07 c")
'<dc:title>a &lt; b &amp;  c</dc:title>'
>>> element("request", "u", verb='"x"', set=None)
'<request verb="&quot;x&quot;">u</request>'
"""

import re
from typing import Final
from xml.sax.saxutils import escape

# XML 1.0, section 2.2. A carriage return is written as a reference, because a parser would make it a line end.
_NOT_XML: Final = re.compile("[^\\t\\n\\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTRIBUTE: Final = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_CONTENT: Final = {"\r": "&#13;"}


def element(tag: str, content: str = "", /, **attributes: str | int | None) -> str:
    """Return an element with text. Attributes that are None are left out."""
    return enclose(tag, escape(_NOT_XML.sub("", content), _CONTENT), **attributes)


def enclose(tag: str, body: str, /, **attributes: str | int | None) -> str:
    """Return an element around XML that is already written."""
    written = "".join(
        f' {name}="{escape(_NOT_XML.sub("", str(value)), _ATTRIBUTE)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{body}</{tag}>"
