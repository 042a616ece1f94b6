"""The login throttle: after several failures a client must wait, and each further failure doubles the wait.

Failures are counted per address, and per address and identity. They are never counted per identity alone: any client
could then lock out the owner. Each worker counts for itself.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from perdure.http.shared.http_errors import TooManyAttempts
from perdure.http.shared.proxy_headers import client_network

FREE: Final = 10  # failures of one identity from one address before the first wait
FREE_FOR_ADDRESS: Final = 100  # of all identities together: many users may share one address
LONGEST_WAIT: Final = 300.0
_EXPIRES_AFTER: Final = 3600.0
_MOST: Final = 20_000  # counters in memory; the oldest is removed first

_Key = tuple[str, bytes]


class _Failures:
    __slots__ = ("count", "last", "until")

    def __init__(self) -> None:
        self.count = 0
        self.last = 0.0
        self.until = 0.0


class _CountedFailure(NamedTuple):
    """One counted failure, with the counter's state before and after it."""

    key: _Key
    failures: _Failures
    last_before: float
    last: float
    until: float


class Attempt:
    """An attempt in progress. It counts as a failure until it succeeds, also if the client disconnects early."""

    __slots__ = ("_attempts", "_client", "_counted", "_identity")

    def __init__(self, attempts: "LoginThrottle", client: str, identity: str) -> None:
        self._attempts = attempts
        self._client = client
        self._identity = identity
        self._counted = attempts.record_failure(client, identity)

    def record_success(self, *, forgives: bool = True) -> None:
        """Undo this attempt's failure, and clear the earlier ones of the identity.

        The failures of the address stay: a client with one right credential could otherwise guess others without limit.
        """
        for counted in self._counted:
            self._attempts.undo_failure(counted)
        if forgives:
            self._attempts.record_success(self._client, self._identity)


class LoginThrottle:
    """The failures that one worker remembers, bounded for any number of addresses."""

    def __init__(self, now: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._now = now
        self._most = most
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()

    def begin(self, client: str, identity: str) -> Attempt:
        """Begin an attempt. Raises TooManyAttempts if the client must still wait.

        After a wait the client has one attempt: the next wait begins with the attempt and not with its failure, so
        many attempts at the same moment gain nothing.
        """
        if wait := self.wait(client, identity):
            raise TooManyAttempts(wait)
        return Attempt(self, client, identity)

    def wait(self, client: str, identity: str) -> float:
        """Return the seconds that the client must still wait, or 0."""
        now = self._now()
        return max([0.0, *(one.until - now for one, _ in self._find_failures(client, identity))])

    def record_failure(self, client: str, identity: str) -> list[_CountedFailure]:
        now = self._now()
        counted: list[_CountedFailure] = []
        for key, free in _keys(client, identity):
            one = self._failures.setdefault(key, _Failures())
            if now - one.last > _EXPIRES_AFTER:
                one.count = 0
            one.count += 1
            before, one.last = one.last, now
            if one.count >= free:
                one.until = now + _wait_after(one.count - free)
            self._failures.move_to_end(key)
            counted.append(_CountedFailure(key, one, before, now, one.until))
        while len(self._failures) > self._most:
            self._failures.popitem(last=False)
        return counted

    def undo_failure(self, counted: _CountedFailure) -> None:
        """Remove a failure that became a success, with its wait and its effect on the expiry of older ones."""
        one = counted.failures
        one.count -= 1
        if one.until == counted.until:  # otherwise a later failure set this wait, and it stays
            one.until = 0.0
        if one.last == counted.last:
            one.last = counted.last_before
        if one.count <= 0 and self._failures.get(counted.key) is one:
            del self._failures[counted.key]

    def record_success(self, client: str, identity: str) -> None:
        """Clear the failures of this identity from this address."""
        if self._failures:
            _, (named, _) = _keys(client, identity)
            self._failures.pop(named, None)

    def _find_failures(self, client: str, identity: str) -> Iterator[tuple[_Failures, int]]:
        if not self._failures:
            return
        now = self._now()
        for key, free in _keys(client, identity):
            one = self._failures.get(key)
            if one is not None and now < max(one.until, one.last + _EXPIRES_AFTER):
                yield one, free

    def __len__(self) -> int:
        return len(self._failures)


def _wait_after(more: int) -> float:
    return min(2.0 ** min(more, 60), LONGEST_WAIT)


def _keys(client: str, identity: str) -> tuple[tuple[_Key, int], tuple[_Key, int]]:
    """Return the counter keys of the address and of the identity, each with its number of free failures."""
    address = client_network(client)
    named = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return ((address, b""), FREE_FOR_ADDRESS), ((address, named), FREE)
