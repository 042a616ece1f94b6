"""The web addresses at which the caller reaches this registry's own resolver.

A name may be pasted as such an address wherever a name is accepted. The addresses belong to the caller (the settings of
a command, the host of a request), so they are in the caller's context, which a store passes on to the work it runs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from perdure.names.resolver_address import ResolverAddress

OwnAddresses = tuple[ResolverAddress, ...]

LOOPBACK: Final = tuple(
    ResolverAddress.parse(f"http://{host}").with_any_port() for host in ("localhost", "127.0.0.1", "[::1]")
)

_current: ContextVar[Callable[[], OwnAddresses]] = ContextVar("own_addresses", default=tuple)


def own_addresses() -> OwnAddresses:
    """Return the addresses of the present caller."""
    return _current.get()()


def set_own_addresses(find: Callable[[], OwnAddresses]) -> None:
    """Set the addresses for the rest of this task. They are computed when a web address is looked up."""
    _current.set(find)


@contextmanager
def use_own_addresses(addresses: OwnAddresses) -> Iterator[None]:
    """Set the addresses until the block ends."""
    before = _current.get()
    _current.set(lambda: addresses)
    try:
        yield
    finally:
        _current.set(before)
