"""The public description of a withdrawal: when it was, and by whom. The reason is in the tombstone."""

from typing import Final, NamedTuple

from perdure.names.ppid import validate_ppid
from perdure.records.authority_metadata import to_seconds
from perdure.registry.entities import Act, Agent
from perdure.registry.store_interface import Reader

WITHDRAWAL_ACTIONS: Final = ("withdraw", "merge", "split", "undo split")


class Withdrawal(NamedTuple):
    """The time of a withdrawal, and the agent: a name, and an identifier if there is one."""

    at: str
    by: str
    by_identifier: str = ""


def find_withdrawal(reader: Reader, subject: str) -> tuple[Act, Agent | None] | None:
    """Return the act that withdrew an identifier with a tombstone, and its agent.

    For an identifier that was imported withdrawn, that is the act that imported it.
    """
    act = reader.newest_act(subject, WITHDRAWAL_ACTIONS) or reader.newest_act(subject)
    return None if act is None else (act, reader.agent(act.agent))


def withdrawal_fields(withdrawal: Withdrawal) -> dict[str, str]:
    """Return the fields of a JSON document that say when an identifier was withdrawn, and by whom."""
    return {f"withdrawn_{part}": text for part, text in withdrawal._asdict().items() if text}


def describe_withdrawal(name: str, act: Act, agent: Agent | None) -> Withdrawal:
    """Return when an identifier was withdrawn, and by whom.

    A caller that is not an agent, as the holder of a handle's key, is named as the history names it. The name of an
    agent who withdrew their own identifier is left out, because their name may be the data that was withdrawn.
    """
    is_own = agent is not None and validate_ppid(name) and name.lower() in agent.identifier.lower()
    by, identifier = (act.agent, "") if agent is None or is_own else (agent.name, agent.identifier)
    return Withdrawal(to_seconds(act.at), by, identifier)
