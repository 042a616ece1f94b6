"""IBI subsystems: sources of labels with one timeline, from a host, an IP address, or both."""

from fractions import Fraction

from perdure.names import ibi
from perdure.names.ibi import opaque, repository
from perdure.names.instant import Exact
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.prefixes.label_periods import change_periods, current_labels
from perdure.registry.prefixes.new_prefix import insert_prefix
from perdure.registry.prefixes.prefixes import check_policy, check_ttl
from perdure.registry.prefixes.subsystem_address import build_subsystem, check_ports
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


async def add_subsystem(
    registry: Registry,
    by: Agent,
    host: str | None,
    ip: str | None,
    *,
    port: int | None = None,
    ip_port: int | None = None,
    granularity: Exact = 1,
    private: bool = False,
    policy: str = "",
    ttl: int | None = None,
) -> Prefix:
    """Add an IBI subsystem: its host, its IP address or both, and the granularity of its dates.

    With both, it mints two labels for each date. They belong to it alone. Its name is that of its host, if it has one.
    The ports are 80 and 800, if none are given.
    """
    ibi.next_date(0, None, granularity)  # refuses an invalid granularity
    check_ports(host, port, ip, ip_port)
    subsystem = build_subsystem(
        host,
        repository.DEFAULT_PORT if port is None else port,
        ip,
        opaque.DEFAULT_PORT if ip_port is None else ip_port,
        Fraction(granularity),
        private=private,
    )
    labels, at = current_labels(subsystem), registry.current_time()
    key = labels.get("name") or labels["address"]
    prefix = Prefix(
        key=key,
        name=key if "name" in labels else key.upper(),
        scheme="ibi",
        minter="ibi",
        case_sensitive=False,
        policy=check_policy(policy),
        opaque=labels.get("address"),
        subsystem=subsystem,
        ttl=check_ttl(ttl),
        created=at,
        periods=change_periods((), labels, at),
    )

    def work(tx: Transaction) -> Prefix:
        require_permission(tx, by, "admin", WHOLE_REGISTRY, registry.current_time())
        insert_prefix(tx, prefix, by)
        return prefix

    return await registry.store.write(work)
