"""The base of the IRIs of persons: chosen when a registry is created, stored in its store, and fixed for life.

A registry that was created without a public URL has a local base, which never resolves. It can still choose while no
person is registered: no IRI has been published until then. A registry from before this choice has no such fact, and
its settings govern.
"""

from typing import Final

import msgspec

from perdure.errors import InvalidInput, StoreSealed, StoreUnavailable
from perdure.names import ppid
from perdure.records.namespaces import check_namespace, is_local, local_person_iris, person_iris_at
from perdure.registry.entities import Event
from perdure.registry.permissions.agents import MACHINE_AGENT
from perdure.registry.registry import Registry
from perdure.registry.settings import Settings
from perdure.registry.store_interface import Reader, Transaction

PERSON_IRIS: Final = "person_iris"  # a fact: the base


def choose_person_iris(registry: str, settings: Settings) -> str:
    """Return the base that the settings choose for a new registry: their own, or the public URL, or a local one."""
    if settings.person_iris:
        return check_namespace(settings.person_iris, "ppid")
    return person_iris_at(settings.public_url) if settings.public_url else local_person_iris(registry)


def with_person_iris(registry: Registry, base: str | None) -> Registry:
    """Return the registry with the stored base in its namespaces. None stands for a registry without that fact."""
    if base is None:
        return registry
    namespaces = msgspec.structs.replace(registry.settings.namespaces, ppid=base)
    settings = msgspec.structs.replace(registry.settings, namespaces=namespaces)
    registry = registry._replace(settings=settings, person_iris=base)
    if base != local_person_iris(registry.id):
        _refuse_another(registry)
    return registry


async def adopt_person_iris(registry: Registry) -> Registry:
    """Store the base that the settings choose, if the present one is local and no person is registered yet."""
    chosen, local = choose_person_iris(registry.id, registry.settings), local_person_iris(registry.id)
    if registry.person_iris != local or chosen == local:
        return registry

    def work(tx: Transaction) -> str | None:
        current = tx.fact(PERSON_IRIS)
        if current != local or _has_persons(tx):
            return current
        tx.put_fact(PERSON_IRIS, chosen)
        tx.put_event(Event(registry.current_time(), MACHINE_AGENT, "person iris", registry.id, chosen))
        return chosen

    if await registry.store.read(_has_persons):
        _refuse_another(registry)
        return registry
    try:
        stored = await registry.store.write(work)
    except (StoreSealed, StoreUnavailable):  # read-only now: no person can be registered either
        return registry
    adopted = with_person_iris(registry, stored)
    _refuse_another(adopted)
    return adopted


def explain_person_iris(registry: Registry) -> str | None:
    """Return a sentence for the operator if the public URL has changed since the base was fixed; None otherwise."""
    public_url, base = registry.settings.public_url, registry.person_iris
    if not public_url or base is None or registry.settings.person_iris or base == person_iris_at(public_url):
        return None
    if is_local(base):
        return (
            f"persons keep their local IRIs ({base}PRID-…), because a person was registered before public_url was set: "
            "a new registry can name them there (perdure init --public-url)"
        )
    return f"persons keep their IRIs, {base}PRID-…, although public_url is {public_url}: redirect from there to here"


def _has_persons(reader: Reader) -> bool:
    return any(reader.identifiers_after("", 1, f"{kind}-") for kind in ppid.TYPES)


def _refuse_another(registry: Registry) -> None:
    """Refuse settings that state another base than the stored one."""
    stated, base = registry.settings.person_iris, registry.person_iris
    if stated and stated != base:
        reason = (
            f"the persons of this registry are named {base}PRID-… for life, and the settings state {stated}: "
            f'write ppid = "{base}" under [persons], or remove that line'
        )
        raise InvalidInput("settings", "ppid", reason)
