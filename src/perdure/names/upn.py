"""Links without a protocol and a host: `upn:`, the ID of a resolver, a label, and the path of a file of that item.

The page that contains the link, or the resolver beside it, maps the resolver ID to an address of today. The notation is
that of the notes "Fully Persistent Hyperlink" (http://gjfb0520.sid.inpe.br/col/urlib.net/www/2023/11.16.13.37).

>>> link = parse("./upn:4CR88AP:8JMKD3MGP8W/34PGRBS/doc/publication.pdf")
>>> link.resolver_id, link.label, link.path
('4CR88AP', '8JMKD3MGP8W/34PGRBS', 'doc/publication.pdf')
>>> str(link), link.name
('upn:4CR88AP:8JMKD3MGP8W/34PGRBS/doc/publication.pdf', '8JMKD3MGP8W/34PGRBS/doc/publication.pdf')
>>> parse("upn:4CR88AP-:sid.inpe.br/mtc-m18@80/2009/02.16.17.46").label
'sid.inpe.br/mtc-m18@80/2009/02.16.17.46'
"""

import re
from typing import Final, NamedTuple

from perdure.errors import InvalidName, quote_text
from perdure.names import ibi

SCHEME: Final = "upn:"
_LINK: Final = re.compile(r"(?:\./)?upn:(?P<resolver>[A-Za-z0-9]{1,64})(?P<hyphen>-?):(?P<name>.*)", re.IGNORECASE)


class UpnLink(NamedTuple):
    """The parts of a link. The hyphen after the resolver ID, if it has one, does not change its meaning."""

    resolver_id: str
    label: str
    path: str = ""
    has_hyphen: bool = False

    @property
    def name(self) -> str:
        """Return the label, and the path after it."""
        return f"{self.label}/{self.path}" if self.path else self.label

    def __str__(self) -> str:
        return f"{SCHEME}{self.resolver_id}{'-' if self.has_hyphen else ''}:{self.name}"


def is_link(text: str) -> bool:
    """Return whether a text begins as a link does, valid or not."""
    return text.removeprefix("./")[: len(SCHEME)].lower() == SCHEME


def parse(text: str) -> UpnLink:
    """Parse a link. Raise InvalidName if it has no resolver ID, or no label of the form that IBI defines."""
    match = _LINK.fullmatch(text)
    if match is None:
        reason = f"{quote_text(text)} is not a link such as upn:4CR88AP:8JMKD3MGP8W/34PGRBS/file.pdf"
        raise InvalidName("upn", "resolver ID", None, reason)
    resolver_id, has_hyphen, name = match["resolver"], bool(match["hyphen"]), match["name"]
    found = ibi.split_label_path(name)
    if found is not None:
        return UpnLink(resolver_id, *found, has_hyphen)
    raise InvalidName("upn", "label", match.start("name"), f"{quote_text(name)} does not begin with an IBI label")
