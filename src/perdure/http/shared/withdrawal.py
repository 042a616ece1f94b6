"""The public description of a withdrawal: when it was, and by whom."""

from perdure.names.ppid import validate_ppid
from perdure.rdf import Withdrawal
from perdure.records.authority_metadata import to_seconds
from perdure.registry.entities import Act, Agent


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
