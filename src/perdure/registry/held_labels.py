"""Items of other servers that are held here: found by any of their labels, which are not registered here."""

from collections.abc import Sequence

from perdure.names import handle, ibi
from perdure.registry.holdings import Holding
from perdure.registry.store_interface import Reader


def held_label_key(label: str) -> str:
    """Return the key of a label of another server: one for all its spellings. Raise InvalidName.

    >>> held_label_key("SID.inpe.br/mtc-m18@80/2009/02.16.17.46.00-RPQ"), held_label_key("8JMKD3MGP8W/34PGRBS")
    ('sid.inpe.br/mtc-m18/2009/02.16.17.46', '8jmkd3mgp8w/34pgrbs')
    """
    name = ibi.parse_any(ibi.split_document_type(label)[0])
    return str(name) if isinstance(name, ibi.LegacyName) else handle.fold(name.canonical)


def find_held_subject(reader: Reader, label: str) -> str:
    """Return the subject of the item with this label, whether it is held here or not."""
    key = held_label_key(label)
    return reader.held_subject(key) or key


def find_held_item(reader: Reader, label: str) -> Sequence[Holding]:
    """Return the holdings of an item of another server, from any of its labels."""
    return reader.holdings(find_held_subject(reader, label))
