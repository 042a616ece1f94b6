"""Wrong credentials are counted, and whoever was wrong too often waits: a little at first, then longer and longer.

It is counted per address, and per address and identity together: never per identity alone, or anybody could keep the
rightful holder out. Each process counts for itself.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from perdure.http.addresses import network_of
from perdure.http.refusals import TooManyAttempts

FREE: Final = 10  # failures of one identity from one address before the first wait
FREE_FOR_ADDRESS: Final = 100  # of all identities together: many people may sit behind one address
LONGEST_WAIT: Final = 300.0
_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 20_000  # of what is remembered; the oldest goes first

_Key = tuple[str, bytes]


class _Failures:
    __slots__ = ("count", "last", "until")

    def __init__(self) -> None:
        self.count = 0
        self.last = 0.0
        self.until = 0.0


class _Counted(NamedTuple):
    """One failure, where it was counted: and what was known there before it and after."""

    key: _Key
    failures: _Failures
    last_before: float
    last: float
    until: float


class Attempt:
    """One that has begun. It is a failure until it is known to be right: whoever leaves early has tried as well."""

    __slots__ = ("_attempts", "_client", "_counted", "_identity")

    def __init__(self, attempts: "Attempts", client: str, identity: str) -> None:
        self._attempts = attempts
        self._client = client
        self._identity = identity
        self._counted = attempts.failed(client, identity)

    def succeeded(self, *, forgives: bool = True) -> None:
        """It takes its own failure back. Earlier ones are forgiven to the identity alone, never to the address:
        whoever has a right credential could else guess as many as they like of others'.
        """
        for counted in self._counted:
            self._attempts.take_back(counted)
        if forgives:
            self._attempts.succeeded(self._client, self._identity)


class Attempts:
    """Of one process. Bounded, however many addresses try."""

    def __init__(self, now: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._now = now
        self._most = most
        self._known: OrderedDict[_Key, _Failures] = OrderedDict()

    def begin(self, client: str, identity: str) -> Attempt:
        """TooManyAttempts, if it is too early for another one.

        Whoever may try again after a wait may try once: the next wait begins with the attempt and not with its
        failure, so that trying many at the same moment gains nothing.
        """
        if wait := self.wait(client, identity):
            raise TooManyAttempts(wait)
        return Attempt(self, client, identity)

    def wait(self, client: str, identity: str) -> float:
        """How many seconds it is too early, and 0 if it is not."""
        now = self._now()
        return max([0.0, *(one.until - now for one, _ in self._found(client, identity))])

    def failed(self, client: str, identity: str) -> list[_Counted]:
        now = self._now()
        counted: list[_Counted] = []
        for key, free in _keys(client, identity):
            one = self._known.setdefault(key, _Failures())
            if now - one.last > _FORGOTTEN_AFTER:
                one.count = 0
            one.count += 1
            before, one.last = one.last, now
            if one.count >= free:
                one.until = now + _wait_after(one.count - free)
            self._known.move_to_end(key)
            counted.append(_Counted(key, one, before, now, one.until))
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return counted

    def take_back(self, counted: _Counted) -> None:
        """It was no failure: it neither makes anybody wait, nor keeps older ones from being forgotten."""
        one = counted.failures
        one.count -= 1
        if one.until == counted.until:  # else somebody has failed since, and that wait stays
            one.until = 0.0
        if one.last == counted.last:
            one.last = counted.last_before
        if one.count <= 0 and self._known.get(counted.key) is one:
            del self._known[counted.key]

    def succeeded(self, client: str, identity: str) -> None:
        """The failures of this identity, from this address, are forgotten."""
        if self._known:
            _, (named, _) = _keys(client, identity)
            self._known.pop(named, None)

    def _found(self, client: str, identity: str) -> Iterator[tuple[_Failures, int]]:
        if not self._known:
            return
        now = self._now()
        for key, free in _keys(client, identity):
            one = self._known.get(key)
            if one is not None and now < max(one.until, one.last + _FORGOTTEN_AFTER):
                yield one, free

    def __len__(self) -> int:
        return len(self._known)


def _wait_after(more: int) -> float:
    return min(2.0 ** min(more, 60), LONGEST_WAIT)


def _keys(client: str, identity: str) -> tuple[tuple[_Key, int], tuple[_Key, int]]:
    """That of the address, and that of the identity; each with how many are free."""
    address = network_of(client)
    named = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return ((address, b""), FREE_FOR_ADDRESS), ((address, named), FREE)
