"""The identifier of a stored item, and the collections that hold it: look-ups that all operations begin with."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.collections.label_path import canonical_label
from perdure.errors import InvalidInput, InvalidName, NoSuchCollection, NoSuchItem, NoSuchName, NoSuchPrefix, quote_text
from perdure.names import handle
from perdure.records.record import Record
from perdure.registry.entities import WHOLE_REGISTRY, Action, Agent, Identifier, Prefix
from perdure.registry.held_labels import find_held_subject
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.store_interface import Reader

_PARTS_OF_REPOSITORY_NAME: Final = 4


class HeldItem(NamedTuple):
    """An item: its label in collections, its identifier if that is registered here, and where it lies."""

    subject: str
    label: str
    identifier: Identifier | None
    record: Record | None
    prefix: Prefix | None
    holdings: Sequence[Holding]

    @property
    def name(self) -> str:
        """The name of the identifier; of an item of another server, the label."""
        return self.label if self.identifier is None else self.identifier.name

    @property
    def original(self) -> Holding | None:
        return next((one for one in self.holdings if one.role == "original"), None)

    def holding_in(self, collection: str) -> Holding | None:
        return next((one for one in self.holdings if one.collection == collection), None)

    def require_holding(self, collection: str) -> Holding:
        """Return the holding of a collection. Raise NoSuchItem if it does not hold the item."""
        holding = self.holding_in(collection)
        if holding is None:
            raise NoSuchItem(self.name)
        return holding

    def require_permission(self, reader: Reader, by: Agent, action: Action, now: str) -> None:
        """Refuse what the agent may not do with the item. Copies from other servers need `import` everywhere."""
        if self.identifier is None or self.prefix is None:
            require_permission(reader, by, "import", WHOLE_REGISTRY, now)
        else:
            require_permission(reader, by, action, self.prefix.key, now, self.record, self.identifier.key)


def find_item(reader: Reader, name: str) -> HeldItem:
    """Return the item with a name. Raise NoSuchName if it is neither registered here nor copied from another server."""
    try:
        identifier, record, prefix = require_identifier(reader, name)
    except NoSuchPrefix:
        foreign = find_foreign_item(reader, name)
        if not foreign.holdings:
            raise
        return foreign
    holdings = reader.holdings(identifier.subject)
    label = holdings[0].label if holdings else choose_label([identifier.subject, identifier.name, *record.other_names])
    return HeldItem(identifier.subject, label, identifier, record, prefix, holdings)


def find_foreign_item(reader: Reader, name: str) -> HeldItem:
    """Return the item with a label of another server, whether it is held here or not."""
    label = choose_label([name])
    subject = find_held_subject(reader, label)
    holdings = reader.holdings(subject)
    return HeldItem(subject, holdings[0].label if holdings else label, None, None, None, holdings)


def choose_label(names: Sequence[str]) -> str:
    """Return the label under which an item is stored: its repository name, or else its IBIp.

    >>> choose_label(["8JMKD3MGP8W/34PGRBS", "SID.inpe.br/mtc-m18/2009/02.16.17.46"])
    'sid.inpe.br/mtc-m18/2009/02.16.17.46'
    """
    labels = []
    for name in names:
        try:
            labels.append(canonical_label(name))
        except InvalidName:
            continue
    if not labels:
        reason = f"{quote_text(names[-1])} is not an IBI label: items are stored under IBI labels only"
        raise InvalidInput("item", "label", reason)
    return next((label for label in labels if label.count("/") + 1 == _PARTS_OF_REPOSITORY_NAME), labels[0])


def require_collection(reader: Reader, name: str) -> Collection:
    """Return the collection with this name. Raise NoSuchCollection, or InvalidInput if it is another server."""
    collection = require_known_collection(reader, name)
    if collection.is_elsewhere:
        reason = f"{name} is the server {collection.url}, which has the originals of some items: do that there"
        raise InvalidInput("collection", "collection", reason)
    return collection


def require_known_collection(reader: Reader, name: str) -> Collection:
    """Return the collection, or the other server, with this name. Raise NoSuchCollection if there is none."""
    collection = reader.collection(name)
    if collection is None:
        raise NoSuchCollection(name, tuple(one.name for one in reader.collections() if handle.fold(name) == one.name))
    return collection


def is_registered(reader: Reader, name: str) -> bool:
    """Return whether the name, or its prefix, belongs to this registry."""
    try:
        require_identifier(reader, name)
    except NoSuchPrefix:
        return False
    except NoSuchName:
        return True
    return True
