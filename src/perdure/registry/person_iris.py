"""The base of the IRIs of persons: chosen when a registry is created, stored in its store, and fixed for life.

A registry that was created without a public URL has a local base, which never resolves. It can still choose while no
person is registered: no IRI has been published until then. A registry from before this choice has no such fact, and
its settings govern.
"""

from typing import Final, NamedTuple

from perdure.errors import InvalidInput, StoreSealed, StoreUnavailable
from perdure.names import ppid
from perdure.records.namespaces import check_namespace, is_local, local_person_iris, person_iris_at
from perdure.registry.entities import Event
from perdure.registry.permissions.agents import MACHINE_AGENT
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

PERSON_IRIS: Final = "person_iris"  # a fact: the base


class PersonIriSettings(NamedTuple):
    """The settings from which the base is chosen: a base that the operator states, and the public URL."""

    stated: str = ""
    public_url: str = ""

    def choose_base(self, registry: str) -> str:
        """Return the base for a new registry: the stated one, or that of the public URL, or a local one."""
        if self.stated:
            return check_namespace(self.stated, "ppid")
        return person_iris_at(self.public_url) if self.public_url else local_person_iris(registry)


async def adopt_person_iris(registry: Registry, chosen: PersonIriSettings) -> Registry:
    """Store the base that the settings choose, if the present one is local and no person is registered yet.

    Raise InvalidInput if the settings state another base than the one that is fixed.
    """
    base, local = chosen.choose_base(registry.id), local_person_iris(registry.id)
    if registry.person_iris is None:
        return registry
    if registry.person_iris == local != base and not await registry.store.read(_has_persons):
        registry = await _store_base(registry, base, local)
    if chosen.stated and chosen.stated != registry.person_iris:
        reason = (
            f"the persons of this registry are named {registry.person_iris}PRID-… for life, and the settings state "
            f'{chosen.stated}: write ppid = "{registry.person_iris}" under [persons], or remove that line'
        )
        raise InvalidInput("settings", "ppid", reason)
    return registry


async def _store_base(registry: Registry, base: str, local: str) -> Registry:
    def work(tx: Transaction) -> str | None:
        current = tx.fact(PERSON_IRIS)
        if current != local or _has_persons(tx):  # another program was faster
            return current
        tx.put_fact(PERSON_IRIS, base)
        tx.put_event(Event(registry.current_time(), MACHINE_AGENT, "person iris", registry.id, base))
        return base

    try:
        return registry._replace(person_iris=await registry.store.write(work))
    except (StoreSealed, StoreUnavailable):  # read-only now: no person can be registered either
        return registry._replace(person_iris=base)


def explain_person_iris(registry: Registry, chosen: PersonIriSettings) -> str | None:
    """Return a sentence for the operator if the public URL has changed since the base was fixed; None otherwise."""
    public_url, base = chosen.public_url, registry.person_iris
    if not public_url or base is None or chosen.stated or base == person_iris_at(public_url):
        return None
    if is_local(base):
        return (
            f"persons keep their local IRIs ({base}PRID-…), because a person was registered before public_url was set: "
            "a new registry can name them there (perdure init --public-url)"
        )
    return f"persons keep their IRIs, {base}PRID-…, although public_url is {public_url}: redirect from there to here"


def _has_persons(reader: Reader) -> bool:
    return any(reader.identifiers_after("", 1, f"{kind}-") for kind in ppid.TYPES)
