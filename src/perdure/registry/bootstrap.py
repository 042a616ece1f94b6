"""Creation and opening of a registry. All that must exist before the first mint is written in one transaction."""

from typing import Final, NamedTuple
from uuid import UUID, uuid4

from perdure.errors import InvalidInput
from perdure.names import handle, ppid
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority_metadata import DESCRIPTIONS
from perdure.records.validation import check_one_line
from perdure.registry import revisions
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Agent, Event, Grant, Prefix
from perdure.registry.name_keys import handle_key
from perdure.registry.permissions.agents import check_new_agent_id
from perdure.registry.permissions.keys import make_key
from perdure.registry.person_iris import PERSON_IRIS, PersonIriSettings
from perdure.registry.prefixes.prefixes import check_prefix_name, person_prefixes
from perdure.registry.registry import Registry
from perdure.registry.secret_box import NoSealer, Sealer
from perdure.registry.settings import Settings
from perdure.registry.store_interface import Reader, Store, Transaction
from perdure.registry.value_types import description_record, type_change
from perdure.timelines.clock import Clock, iso_now
from perdure.timelines.timeline import HIGH_WATER_LEAD, pilin_suffix, pilin_ticks

REGISTRY: Final = "registry"
_NAMESPACE, _HOME = "ppid_namespace", "home"
_NO_SEALER: Final = NoSealer()
_NO_CHOICE: Final = PersonIriSettings()


class NewRegistry(NamedTuple):
    """A new registry, its first agent, and that agent's key, which is shown once."""

    registry: Registry
    admin: Agent
    key: str


async def create_registry(
    store: Store,
    clock: Clock,
    settings: Settings,
    *,
    name: str,
    home: str | None = None,
    admin: str = "admin",
    ppid_namespace: UUID = PPID_NAMESPACE,
    person_iris: PersonIriSettings = _NO_CHOICE,
    sealer: Sealer = _NO_SEALER,
) -> NewRegistry:
    """Create a registry with its identity, its first agent, that agent's identifier, and the types of the metadata."""
    check_one_line(name, "name", 500)
    check_new_agent_id(admin)
    identity = uuid4().hex
    home_name = home or f"local-{identity[:8]}"
    check_prefix_name(home_name)
    check_prefix_name(settings.type_prefix)
    if handle.fold(home_name) in {handle.fold(name) for name in (*ppid.TYPES, settings.type_prefix)}:
        raise InvalidInput("registry", "home", f"{home_name!a} is reserved for another purpose: choose another prefix")
    base = person_iris.choose_base(identity)
    registry = Registry(identity, store, clock, settings, ppid_namespace, handle.fold(home_name), sealer, base)

    def work(tx: Transaction) -> NewRegistry:
        if tx.fact(REGISTRY) is not None:
            raise InvalidInput("registry", "store", "this store holds a registry already")
        at = iso_now(clock)
        tx.put_fact(REGISTRY, identity)
        tx.put_fact(_NAMESPACE, str(ppid_namespace))
        tx.put_fact(_HOME, registry.home)
        tx.put_fact(PERSON_IRIS, base)
        own = Prefix(key=registry.home, name=home_name, scheme="handle", minter="pilin", created=at)
        types = Prefix(
            key=handle.fold(settings.type_prefix),
            name=settings.type_prefix,
            scheme="handle",
            minter="chosen",
            case_sensitive=False,
            policy="Types of the values in which authority metadata is written.",
            created=at,
        )
        for prefix in (own, types, *person_prefixes(at)):
            tx.put_prefix(prefix)
        tick = pilin_ticks(clock.now_ns(), None)()
        identifier = f"{home_name}/{pilin_suffix(tick.date)}"
        agent = Agent(admin, name, f"hdl:{identifier}", at)
        tx.put_timeline(own.key, tick.date, HIGH_WATER_LEAD)
        suffix = identifier.partition("/")[2]
        record = description_record(agent.identifier, name, at)
        tx.insert([revisions.first_revision(identifier, handle_key(own, suffix), "handle", record, agent, "mint", at)])
        for kind in DESCRIPTIONS:
            tx.insert([type_change(types, kind, agent.identifier, agent, at)])
        key, token = make_key(identity, admin, at, None, "first")
        tx.put_agent(agent)
        tx.put_key(key)
        for action in ACTIONS:
            tx.put_grant(Grant(admin, WHOLE_REGISTRY, action, given_by=admin, given_at=at))
        tx.put_event(Event(at, admin, "found", identity, name))
        return NewRegistry(registry, agent, token)

    return await store.write(work)


async def reopen(
    store: Store,
    clock: Clock,
    settings: Settings,
    expected_id: str | None = None,
    sealer: Sealer = _NO_SEALER,
) -> Registry:
    """Return the registry that a store holds. Raise InvalidInput if the settings belong to another registry."""

    def work(reader: Reader) -> tuple[str | None, ...]:
        return tuple(reader.fact(fact) for fact in (REGISTRY, _NAMESPACE, _HOME, PERSON_IRIS))

    identity, namespace, home, person_iris = await store.read(work)
    if identity is None or namespace is None or home is None:
        raise InvalidInput("registry", "store", "this database holds no registry; create one with: perdure init")
    if expected_id is not None and identity != expected_id:
        reason = (
            f"the settings belong to registry {expected_id[:8]}, and the database to registry {identity[:8]}: "
            "one of them was copied here from elsewhere. Nothing is changed until the two match"
        )
        raise InvalidInput("registry", "id", reason)
    return Registry(identity, store, clock, settings, UUID(namespace), home, sealer, person_iris)
