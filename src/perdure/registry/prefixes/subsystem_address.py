"""The host and the IP address of an IBI subsystem: both, or one of them, and how they change.

The timeline, the grants and the policy stay with the subsystem for life, and so does every label that it has issued.
"""

import ipaddress
from fractions import Fraction
from typing import Final

import msgspec

from perdure.errors import InvalidInput
from perdure.names import handle, instant
from perdure.registry.entities import Prefix, Subsystem
from perdure.registry.prefixes.label_periods import change_periods, current_labels
from perdure.registry.prefixes.new_prefix import check_keys_are_free
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import MICROSECONDS, iso_microseconds


class AddressChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the address of a subsystem. None stays as it is; `no_host` and `no_ip` end the labels of one kind."""

    host: str | None = None
    port: int | None = None
    ip: str | None = None
    ip_port: int | None = None
    private: bool = False
    no_host: bool = False
    no_ip: bool = False


SAME_ADDRESS: Final = AddressChange()


def build_subsystem(
    host: str | None, port: int, ip: str | None, ip_port: int, granularity: Fraction, *, private: bool
) -> Subsystem:
    """Return a subsystem. Raise an error if its host or IP address makes no label, or if it has neither."""
    if host is None and ip is None:
        raise InvalidInput("prefix", "host", "a subsystem needs a host, an IP address, or both")
    folded = None if host is None else handle.fold(host).removesuffix(".")
    subsystem = Subsystem(folded, port, ip, ip_port, granularity, private)
    current_labels(subsystem)
    if ip is not None and not private and not ipaddress.ip_address(ip).is_global:
        raise InvalidInput("ibi", "ip", f"{ip} is a private IP address, which is not unique; to allow it, set private")
    return subsystem


def change_address(tx: Transaction, prefix: Prefix, change: AddressChange, at: str) -> Prefix:
    """Return the subsystem with another address, and with the label periods that follow from it.

    The timeline is locked from here on, so that nothing is minted with the old address any more.
    """
    last = tx.timeline(prefix.key)
    before = prefix.subsystem
    if before is None:
        reason = f"only IBI subsystems have a host or an IP address, and {prefix.name} is not one"
        raise InvalidInput("prefix", "host", reason)
    _check_consistent(change)
    host = None if change.no_host else change.host or before.host
    ip = None if change.no_ip else change.ip or before.ip
    check_ports(host, change.port, ip, change.ip_port)
    port = before.port if change.port is None else change.port
    ip_port = before.ip_port if change.ip_port is None else change.ip_port
    is_private = change.private or (before.private and ip == before.ip)
    subsystem = build_subsystem(host, port, ip, ip_port, before.granularity, private=is_private)
    labels = current_labels(subsystem)
    new = [label for label in labels.values() if label not in prefix.lookup_keys]
    check_keys_are_free(tx, prefix, new)
    periods = change_periods(prefix.periods, labels, _boundary(prefix, last, at))
    return msgspec.structs.replace(prefix, subsystem=subsystem, opaque=labels.get("address"), periods=periods)


def _check_consistent(change: AddressChange) -> None:
    if change.no_host and (change.host is not None or change.port is not None):
        raise InvalidInput("prefix", "host", "a host or its port, and no host, cannot be combined")
    if change.no_ip and (change.ip is not None or change.ip_port is not None):
        raise InvalidInput("prefix", "ip", "an IP address or its port, and no IP address, cannot be combined")


def check_ports(host: str | None, port: int | None, ip: str | None, ip_port: int | None) -> None:
    """Refuse a port that belongs to nothing: it would be stored, and appear in no label."""
    if port is not None and host is None:
        raise InvalidInput("prefix", "port", "a port is part of the labels of a host: give the host, too")
    if ip_port is not None and ip is None:
        reason = "the port of an IP address is part of its labels: give the IP address, too"
        raise InvalidInput("prefix", "ip_port", reason)


def _boundary(prefix: Prefix, last: Fraction | None, at: str) -> str:
    """Return when one period ends and the next one begins: not before the last date, and after all other changes."""
    now = instant.from_iso(at, "instant")
    earliest = max(now, now if last is None else last)
    microseconds = -(-earliest.numerator * MICROSECONDS // earliest.denominator)
    newest = max((one.started for one in prefix.periods), default="")
    boundary = iso_microseconds(microseconds)
    if boundary <= newest:  # changed twice without a date between
        boundary = iso_microseconds(int(instant.from_iso(newest, "instant") * MICROSECONDS) + 1)
    return boundary
