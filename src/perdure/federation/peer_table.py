"""The table of prefixes and servers: to which servers a name is sent on.

>>> name_keys("sid.inpe.br/mtc-m18/2009/02.16.17.46")[0], name_keys("10.1000.5/1")
('sid.inpe.br/mtc-m18', ('10.1000.5', '10.1000', '10'))
>>> name_keys("upn:4CR88AP:J8LNKAN8PW/36CT2G2")[:2], name_keys("POID-0000-0000-0000-0000")[:2]
(('upn:4cr88ap', 'j8lnkan8pw'), ('poid', 'ppid'))
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.names import handle, ibi, ppid, upn
from perdure.registry.entities import Peer
from perdure.registry.name_keys import label_prefix_key
from perdure.registry.peers.peer_fields import ALL_NAMES, PERSONS, RESOLVER_ID, UPSTREAM

MOST_ASKED: Final = 8  # servers, for one question
_PPID_TYPE: Final = 4  # characters


class Candidates(NamedTuple):
    """The servers for a name: those to ask, the owners of its prefix, and those to which readers are only sent.

    `owners` are the names of servers that mint under the prefix, by the table or else by their announcements. It is
    None for the rows of all names: what these servers answer decides.
    """

    asked: tuple[Peer, ...]
    owners: frozenset[str] | None
    redirected: tuple[Peer, ...]


class PeerTable:
    """All rows of the table, for look-ups by the keys of a name."""

    def __init__(self, peers: Iterable[Peer], upstream: str = "") -> None:
        self.peers = tuple(sorted(peers, key=lambda peer: (peer.added, peer.name)))
        self.by_name = {peer.name: peer for peer in self.peers}
        self._rows: dict[str, list[Peer]] = {}
        self._bases = tuple(f"{peer.url}/" for peer in self.peers if peer.key is not None)
        self._announced: dict[str, list[tuple[Peer, bool]]] = {}
        for peer in self.peers:
            for prefix in peer.prefixes:
                self._rows.setdefault(prefix, []).append(peer)
            for held in peer.announced:
                self._announced.setdefault(held.prefix, []).append((peer, held.role == "original"))
        if upstream:  # the last row
            last = Peer(name=UPSTREAM, url=upstream.rstrip("/"), prefixes=(ALL_NAMES,))
            self._rows.setdefault(ALL_NAMES, []).append(last)

    def __bool__(self) -> bool:
        return bool(self._rows or self._announced)

    def leads_to_peer(self, url: str) -> bool:
        """Return whether a target is on one of the servers."""
        return url.startswith(self._bases)

    def find(self, name: str) -> tuple[Candidates, ...]:
        """Return the servers for a name, in up to two groups: those of its prefix, and those of all names.

        Of several servers that announce a prefix as theirs, the one that was added first counts as its owner: a later
        one cannot take it away.
        """
        keys = name_keys(name)
        rows = next((self._rows[key] for key in keys if key in self._rows), [])
        announced = next((self._announced[key] for key in keys if key in self._announced), [])
        owners = [peer.name for peer in rows] or [peer.name for peer, is_original in announced if is_original][:1]
        first = _group([*rows, *(peer for peer, _ in announced)], frozenset(owners))
        known = {peer.name for peer in (*first.asked, *first.redirected)}
        rest = [peer for peer in self._rows.get(ALL_NAMES, ()) if peer.name not in known]
        return tuple(group for group in (first, _group(rest, None)) if group.asked or group.redirected)


def name_keys(name: str) -> tuple[str, ...]:
    """Return the keys under which the table may have a name, the most specific first. `*` is not among them."""
    keys: list[str] = []
    if upn.is_link(name):
        try:
            link = upn.parse(name)
        except InvalidName:
            return ()
        keys.append(f"{RESOLVER_ID}{handle.fold(link.resolver_id)}")
        name = link.name
    if ppid.validate_ppid_syntax(name):
        return (*keys, handle.fold(name[:_PPID_TYPE]), PERSONS)
    found = ibi.split_label_path(name)
    label = name if found is None else found[0]
    with suppress(InvalidName):
        keys.append(label_prefix_key(ibi.parse_any(ibi.split_document_type(label)[0])))
    prefix = handle.fold(name.partition("/")[0])
    return tuple(dict.fromkeys((*keys, prefix, *handle.parents(prefix))))


def _group(peers: Sequence[Peer], owners: frozenset[str] | None) -> Candidates:
    unique = tuple({peer.name: peer for peer in peers}.values())
    asked = tuple(peer for peer in unique if peer.key is not None)[:MOST_ASKED]
    return Candidates(asked, owners, tuple(peer for peer in unique if peer.key is None))
