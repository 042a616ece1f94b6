"""Prefixes of a remote registry."""

from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from typing import Any

import msgspec

from perdure.cli.remote.api_client import Answer
from perdure.cli.remote.remote_registry import RemoteRegistry, path_to
from perdure.names import handle
from perdure.names.instant import Exact
from perdure.registry.entities import Agent, LabelPeriod, Minter, Prefix, Scheme, Subsystem
from perdure.registry.prefixes.subsystem_address import SAME_ADDRESS, AddressChange


class _Prefix(msgspec.Struct, kw_only=True):
    prefix: str
    scheme: Scheme
    minter: Minter
    case_sensitive: bool
    pass_through: bool = False
    joiners: bool = False
    created: str = ""
    policy: str = ""
    parent: str | None = None
    pattern: str | None = None
    opaque: str | None = None
    host: str | None = None
    port: int | None = None
    ip: str | None = None
    ip_port: int | None = None
    granularity: str | None = None
    ttl: int | None = None
    periods: tuple[LabelPeriod, ...] = ()

    def to_domain(self) -> Prefix:
        return Prefix(
            key=handle.fold(self.prefix),
            name=self.prefix,
            scheme=self.scheme,
            minter=self.minter,
            case_sensitive=self.case_sensitive,
            parent=self.parent,
            policy=self.policy,
            pattern=self.pattern,
            opaque=self.opaque,
            subsystem=self._subsystem(),
            created=self.created,
            pass_through=self.pass_through,
            ttl=self.ttl,
            joiners=self.joiners,
            periods=tuple(msgspec.structs.replace(one, label=handle.fold(one.label)) for one in self.periods),
        )

    def _subsystem(self) -> Subsystem | None:
        if self.granularity is None:
            return None
        is_private = self.ip is not None and not ip_address(self.ip).is_global
        granularity = Fraction(self.granularity)
        return Subsystem(self.host, self.port or 80, self.ip, self.ip_port or 800, granularity, is_private)


class _Prefixes(msgspec.Struct):
    prefixes: tuple[_Prefix, ...]


async def list_prefixes(remote: RemoteRegistry) -> list[Prefix]:
    return [one.to_domain() for one in remote.get("/prefixes", _Prefixes).prefixes]


async def show_prefix(remote: RemoteRegistry, name: str) -> tuple[Prefix, Fraction | None]:
    """Return a prefix. The API does not show the date of its newest name."""
    return remote.get(path_to("prefixes", name), _Prefix).to_domain(), None


async def add_prefix(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    *,
    minter: Minter = "pilin",
    case_sensitive: bool = True,
    policy: str = "",
    pattern: str | None = None,
    pass_through: bool = False,
    ttl: int | None = None,
    joiners: bool = False,
) -> Prefix:
    settings = _without_none(
        prefix=name,
        minter=minter,
        case_sensitive=case_sensitive,
        policy=policy,
        pattern=pattern,
        pass_through=pass_through,
        ttl=ttl,
        joiners=joiners,
    )
    return _decode_prefix(remote, remote.send("POST", "/prefixes", settings))


async def derive_prefix(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    *,
    minter: Minter = "pilin",
    case_sensitive: bool = True,
    policy: str = "",
    pattern: str | None = None,
    pass_through: bool = False,
    ttl: int | None = None,
    joiners: bool = False,
) -> Prefix:
    settings = _without_none(
        prefix=name,
        minter=minter,
        case_sensitive=case_sensitive,
        policy=policy,
        pattern=pattern,
        pass_through=pass_through,
        ttl=ttl,
        joiners=joiners,
    )
    return _decode_prefix(remote, remote.send("POST", "/derived-prefixes", settings))


async def add_subsystem(
    remote: RemoteRegistry,
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
    settings = _without_none(
        host=host,
        ip=ip,
        port=port,
        ip_port=ip_port,
        granularity=_format_seconds(granularity),
        private=private,
        policy=policy,
        ttl=ttl,
    )
    return _decode_prefix(remote, remote.send("POST", "/prefixes", settings))


async def change_prefix(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    *,
    policy: str | None = None,
    granularity: Exact | None = None,
    minter: Minter | None = None,
    pattern: str | None = None,
    pass_through: bool | None = None,
    ttl: int | None = None,
    joiners: bool | None = None,
    address: AddressChange = SAME_ADDRESS,
    expected: str | None = None,
) -> Prefix:
    settings = _without_none(
        policy=policy,
        granularity=None if granularity is None else _format_seconds(granularity),
        minter=minter,
        pattern=pattern,
        pass_through=pass_through,
        ttl=ttl,
        joiners=joiners,
        **_address_fields(address),
    )
    return remote.change("PATCH", path_to("prefixes", name), _Prefix, settings, expected=expected).to_domain()


def _decode_prefix(remote: RemoteRegistry, answer: Answer) -> Prefix:
    return remote.decode(answer, _Prefix).to_domain()


def _address_fields(address: AddressChange) -> dict[str, Any]:
    """Return the fields of a change of the address, without those that say nothing."""
    return {name: value for name, value in msgspec.structs.asdict(address).items() if value not in (None, False)}


def _without_none(**settings: Any) -> dict[str, Any]:
    return {field: value for field, value in settings.items() if value is not None}


def _format_seconds(step: Exact) -> str:
    """Format a granularity as the API reads it: a decimal number."""
    exact = Fraction(step)
    return f"{Decimal(exact.numerator) / exact.denominator:f}"
