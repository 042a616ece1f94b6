"""New handles whose suffix nobody chooses: a random one, or what the minter of a PILIN prefix has next."""

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from perdure.errors import InvalidInput
from perdure.minting.suffixes import random_suffix
from perdure.records.checks import checked_values
from perdure.records.value import Value
from perdure.registry import change
from perdure.registry.authority import authenticated
from perdure.registry.entities import Agent, Prefix
from perdure.registry.handles.expecting import Expected
from perdure.registry.handles.incoming import Incoming, received
from perdure.registry.handles.rewriting import HandleWritten, Rewriting
from perdure.registry.handles.writing import new_record, put, require_creating
from perdure.registry.minting import First, issue_pilin
from perdure.registry.naming import handle_key
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


async def mint_handle(
    registry: Registry,
    by: Agent | None,
    beginning: str,
    values: Sequence[Value],
    *,
    expected: Sequence[Expected] = (),
    patience: Fraction | None = None,
) -> HandleWritten:
    """A new handle that begins so (`12345/`, or `12345/thesis-`) and ends in a random UUID.

    Under a prefix with the PILIN minter, whose names begin with nothing that is chosen, it is a PILIN suffix; its date
    has come when this returns. `patience` is how long the caller can wait for that, in seconds.
    """
    actor = authenticated(by, "mint", beginning)
    incoming = received(values, beginning, registry.settings.limits)

    def work(tx: Transaction) -> tuple[HandleWritten, Fraction | None]:
        ending = random_suffix()
        writing = Rewriting(registry, tx, actor, beginning + ending, expected)
        prefix = writing.place.prefix
        if prefix is None or prefix.minter != "pilin":
            return put(writing, incoming, overwrite=False), None
        return _mint_pilin(writing, prefix, ending, incoming, patience)

    written, due = await registry.store.write(work)
    if due is not None:
        await registry.clock.wait_until(due)
    return written


def _mint_pilin(
    writing: Rewriting, prefix: Prefix, ending: str, incoming: Incoming, patience: Fraction | None
) -> tuple[HandleWritten, Fraction | None]:
    require_creating(writing, incoming)
    if writing.place.name != f"{prefix.name}/{ending}":
        reason = (
            f"names under {prefix.name} are made whole by its minter: create {prefix.name}/ with mintNewSuffix=true"
        )
        raise InvalidInput("handle", "name", reason)
    writing.check_expected()
    values = checked_values(writing.meant(incoming, None), writing.limits)
    record = msgspec.structs.replace(new_record(writing), values=values)
    first = First(record, change.fitting(record, writing.limits.record_bytes), writing.by, writing.at)
    issued = issue_pilin(writing.registry, writing.tx, prefix, first, 1, patience)
    (minted,) = issued.minted
    key = handle_key(prefix, minted.name.partition("/")[2])
    writing.keep_secrets(key, record, incoming.secrets)
    return HandleWritten(minted.name, True, 1), issued.due
