"""Rows that have a name already: it must be one of the prefix for which the other rows get names."""

from perdure.errors import InvalidInput, InvalidName, NoSuchName, quote_text
from perdure.records import record as records
from perdure.registry.entities import Prefix
from perdure.registry.minters import MintedIdentifier
from perdure.registry.name_keys import LocatedName, locate
from perdure.registry.row_answers import RowOutcome
from perdure.registry.store_interface import Reader


def find_named(reader: Reader, prefix: Prefix, names: set[str]) -> dict[str, RowOutcome]:
    """Return the outcomes of rows with these names, which must exist under the prefix."""
    located: dict[str, LocatedName] = {}
    outcomes: dict[str, RowOutcome] = {}
    for name in names:
        try:
            located[name] = locate(reader, name)
        except (InvalidName, InvalidInput, NoSuchName) as problem:
            outcomes[name] = RowOutcome(error=_foreign_name_error(name, prefix, str(problem)))
    found = reader.find_many([one.key for one in located.values()]) if located else {}
    for name, one in located.items():
        identifier = found.get(one.key)
        if one.prefix.key != prefix.key:
            outcomes[name] = RowOutcome(error=_foreign_name_error(name, prefix, "it has another prefix"))
        elif identifier is None:
            outcomes[name] = RowOutcome(error=_foreign_name_error(name, prefix, "it is not registered"))
        else:
            record = records.decode(identifier.record)
            alias = None if identifier.subject != identifier.key else record.alias
            outcomes[name] = RowOutcome(MintedIdentifier(identifier.name, alias))
    return outcomes


def _foreign_name_error(name: str, prefix: Prefix, reason: str) -> InvalidInput:
    return InvalidInput(
        "mint",
        "name",
        f"the row has {quote_text(name)} in the column for names, which is no name under {prefix.name}: {reason}",
    )
