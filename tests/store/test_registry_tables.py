"""The other tables in every store: prefixes, timelines, persons, agents, keys, grants, events, facts."""

import contextlib
from fractions import Fraction

import msgspec
import pytest
from tests.store.record_strategies import AT, JAN, Desk, change

from perdure.errors import PerdureError
from perdure.registry.entities import Event, Grant, HeldPrefix, Key, LabelPeriod, Peer, Prefix, Subsystem
from perdure.registry.store_interface import Transaction

PREFIX = Prefix(
    key="10.abc",
    name="10.ABC",
    scheme="handle",
    minter="sequential",
    case_sensitive=False,
    parent="10",
    policy="Für alle.\n",
    pattern="t-##",
    created=AT,
)
SUBSYSTEM = Prefix(
    key="sid.inpe.br/mtc-m18",
    name="sid.inpe.br/mtc-m18",
    scheme="ibi",
    minter="ibi",
    opaque="8jmkd3mgp8w",
    subsystem=Subsystem("mtc-m18.sid.inpe.br", 80, "150.163.34.243", 800, Fraction(1, 10**9), True),
    created=AT,
    periods=(
        LabelPeriod("sid.inpe.br/mtc-m17", "name", "2009-02-16T17:46:00.000000Z", "2010-10-20T15:14:06.394023Z"),
        LabelPeriod("8jmkd3mgp8w", "address", "2009-02-16T17:46:00.000000Z"),
        LabelPeriod("sid.inpe.br/mtc-m18", "name", "2010-10-20T15:14:06.394023Z"),
    ),
)
LATER = "2011-01-01T00:00:00.000000Z"
PASSING = msgspec.structs.replace(PREFIX, key="11", name="11", pass_through=True)


def test_a_prefix_is_stored_field_by_field(desk: Desk) -> None:
    desk.write(lambda tx: [tx.put_prefix(one) for one in (SUBSYSTEM, PASSING, PREFIX)])
    assert desk.read(lambda reader: reader.prefix("10.abc")) == PREFIX
    assert desk.read(lambda reader: reader.prefixes()) == [PREFIX, PASSING, SUBSYSTEM]
    assert desk.read(lambda reader: reader.prefix("10.ABC")) is None


def test_a_subsystem_is_found_by_each_label_prefix_that_it_has_had(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_prefix(SUBSYSTEM))
    for key in ("sid.inpe.br/mtc-m18", "8jmkd3mgp8w", "sid.inpe.br/mtc-m17"):
        assert desk.read(lambda reader, key=key: reader.prefix(key)) == SUBSYSTEM


def test_a_prefix_can_be_changed_in_some_fields(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_prefix(PREFIX))
    changed = msgspec.structs.replace(PREFIX, minter="uuid", policy="New", pattern=None, pass_through=True)
    desk.write(lambda tx: tx.put_prefix(changed))
    assert desk.read(lambda reader: reader.prefix("10.abc")) == changed


@pytest.mark.parametrize("fixed", [{"case_sensitive": True}, {"scheme": "ibi"}])
def test_the_case_rules_of_a_prefix_never_change(desk: Desk, fixed: dict[str, object]) -> None:
    desk.write(lambda tx: tx.put_prefix(PREFIX))
    with contextlib.suppress(PerdureError):
        desk.write(lambda tx: tx.put_prefix(msgspec.structs.replace(PREFIX, **fixed)))
    assert desk.read(lambda reader: reader.prefix("10.abc")) == PREFIX


def test_an_opaque_prefix_belongs_to_one_subsystem(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_prefix(SUBSYSTEM))
    other = msgspec.structs.replace(SUBSYSTEM, key="sid.inpe.br/other", periods=())
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_prefix(other))


def test_a_subsystem_gets_another_address(desk: Desk) -> None:
    ended = msgspec.structs.replace(SUBSYSTEM.periods[1], ended=LATER)
    new = LabelPeriod("8jmkd3mgp8x", "address", LATER)
    first, _, name = SUBSYSTEM.periods
    moved = msgspec.structs.replace(SUBSYSTEM, opaque="8jmkd3mgp8x", periods=(first, ended, name, new))
    desk.write(lambda tx: tx.put_prefix(SUBSYSTEM))
    desk.write(lambda tx: tx.put_prefix(moved))
    assert desk.read(lambda reader: reader.prefixes()) == [moved]
    for key in ("8jmkd3mgp8w", "8jmkd3mgp8x"):
        assert desk.read(lambda reader, key=key: reader.prefix(key)) == moved


@pytest.mark.parametrize(
    "second",
    [
        LabelPeriod("8jmkd3mgp8w", "address", LATER),  # of the first subsystem
        LabelPeriod("sid.inpe.br/mtc-m17", "name", LATER),  # once of the first subsystem
    ],
)
def test_a_label_prefix_stays_with_one_subsystem(desk: Desk, second: LabelPeriod) -> None:
    desk.write(lambda tx: tx.put_prefix(SUBSYSTEM))
    other = msgspec.structs.replace(SUBSYSTEM, key="sid.inpe.br/other", opaque=None, periods=(second,))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_prefix(other))
    assert desk.read(lambda reader: reader.prefixes()) == [SUBSYSTEM]


@pytest.mark.parametrize(
    "changed",
    [
        LabelPeriod("sid.inpe.br/mtc-m17", "name", "2009-02-16T17:46:00.000000Z", LATER),
        LabelPeriod("sid.inpe.br/mtc-m17", "name", "2009-02-16T17:46:00.000000Z"),
        LabelPeriod("sid.inpe.br/mtc-m19", "name", LATER),  # two at a time
    ],
)
def test_a_label_period_that_has_ended_stays(desk: Desk, changed: LabelPeriod) -> None:
    desk.write(lambda tx: tx.put_prefix(SUBSYSTEM))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_prefix(msgspec.structs.replace(SUBSYSTEM, periods=(changed,))))
    assert desk.read(lambda reader: reader.prefixes()) == [SUBSYSTEM]


@pytest.mark.parametrize("last", [Fraction(0), Fraction(1, 3), Fraction(1_800_000_000_123, 1000), Fraction(1, 10**40)])
def test_a_timeline_is_stored_exactly(desk: Desk, last: Fraction) -> None:
    assert desk.read(lambda reader: reader.timeline("1")) is None
    desk.write(lambda tx: tx.put_timeline("1", last, Fraction(60)))
    assert desk.read(lambda reader: reader.timeline("1")) == last


def test_a_timeline_may_be_set_back(desk: Desk) -> None:
    """The registry decides that, in an audited reset; the store accepts it."""
    for last in (5, 9, 2):
        desk.write(lambda tx, last=last: tx.put_timeline("1", Fraction(last), Fraction(60)))
    desk.write(lambda tx: tx.put_timeline("0", Fraction(7), Fraction(60)))
    assert desk.read(lambda reader: reader.timelines()) == {"0": Fraction(7), "1": Fraction(2)}


def test_a_person_is_found_by_inputs_and_by_name(desk: Desk) -> None:
    desk.insert(change("POID-a", scheme="ppid"), change("POID-b", scheme="ppid"))
    desk.write(lambda tx: tx.put_persons({"u-1": "POID-a", "u-2": "POID-b"}))
    assert desk.read(lambda reader: (reader.person("u-1"), reader.person("u-3"))) == ("POID-a", None)
    assert desk.read(lambda reader: reader.persons(["u-2", "u-3", "u-1"])) == {"u-1": "POID-a", "u-2": "POID-b"}
    assert desk.read(lambda reader: (reader.input_uuid("POID-b"), reader.input_uuid("POID-c"))) == ("u-2", None)


@pytest.mark.parametrize("inputs", [{"u-1": "POID-b"}, {"u-2": "POID-a"}, {"u-3": "POID-missing"}])
def test_the_name_for_inputs_never_changes(desk: Desk, inputs: dict[str, str]) -> None:
    desk.insert(change("POID-a", scheme="ppid"), change("POID-b", scheme="ppid"))
    desk.write(lambda tx: tx.put_persons({"u-1": "POID-a"}))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_persons(inputs))
    assert desk.read(lambda reader: reader.persons(["u-1", "u-2", "u-3"])) == {"u-1": "POID-a"}


def test_derivations_are_stored_by_version(desk: Desk) -> None:
    desk.insert(*(change(key, scheme="ppid") for key in ("POID-a", "POID-b", "PRID-a")))
    desk.write(lambda tx: tx.put_derivations("PRID-a", 2, ["POID-b", "POID-a"]))
    desk.write(lambda tx: tx.put_derivations("PRID-a", 1, ["POID-b"]))
    assert desk.read(lambda reader: reader.derivations("PRID-a")) == [(1, "POID-b"), (2, "POID-a"), (2, "POID-b")]


def test_an_observation_has_its_derivations_of_all_versions(desk: Desk) -> None:
    desk.insert(*(change(key, scheme="ppid") for key in ("POID-a", "POID-b", "PRID-a", "PRID-b")))
    desk.write(lambda tx: tx.put_derivations("PRID-b", 1, ["POID-a"]))
    desk.write(lambda tx: tx.put_derivations("PRID-b", 2, ["POID-a", "POID-b"]))

    def one_more(tx: Transaction) -> list[str]:
        tx.put_derivations("PRID-a", 1, ["POID-a"])
        return tx.derived_from("POID-a")

    assert desk.write(one_more) == ["PRID-a", "PRID-b"]
    assert desk.read(lambda reader: reader.derived_from("POID-b")) == ["PRID-b"]
    assert desk.read(lambda reader: reader.derived_from("POID-c")) == []


@pytest.mark.parametrize("poid", ["POID-missing", "PRID-a"])
def test_a_derivation_needs_another_existing_name(desk: Desk, poid: str) -> None:
    desk.insert(change("PRID-a", scheme="ppid"))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_derivations("PRID-a", 1, [poid]))
    assert desk.read(lambda reader: reader.derivations("PRID-a")) == []


def test_agents_are_stored(desk: Desk) -> None:
    ada = msgspec.structs.replace(JAN, id="ada", identifier="hdl:1/ada", kind="program")
    desk.write(lambda tx: (tx.put_agent(JAN), tx.put_agent(ada)))
    assert desk.read(lambda reader: (reader.agent("jan"), reader.agent("piet"))) == (JAN, None)
    assert desk.read(lambda reader: reader.agents()) == [ada, JAN]


def test_an_identifier_belongs_to_one_agent(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_agent(JAN))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_agent(msgspec.structs.replace(JAN, id="piet")))


def test_keys_are_stored(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_agent(JAN))
    first = Key("k1", "jan", bytes(range(32)), "2027-01-01T00:00:00.000000Z", label="laptop")
    second = Key("k0", "jan", b"\x00" * 32, "2027-01-02T00:00:00.000000Z", "2028-01-01T00:00:00Z")
    desk.write(lambda tx: (tx.put_key(second), tx.put_key(first)))
    assert desk.read(lambda reader: reader.keys("jan")) == [first, second]
    assert desk.read(lambda reader: (reader.key("k1"), reader.key("k9"), reader.keys("piet"))) == (first, None, [])
    revoked = msgspec.structs.replace(first, revoked=AT)
    desk.write(lambda tx: tx.put_key(revoked))
    assert desk.read(lambda reader: reader.key("k1")) == revoked


def test_the_digest_of_a_key_never_changes(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_agent(JAN))
    key = Key("k1", "jan", b"a" * 32, AT)
    desk.write(lambda tx: tx.put_key(key))
    desk.write(lambda tx: tx.put_key(msgspec.structs.replace(key, digest=b"b" * 32)))
    assert desk.read(lambda reader: reader.key("k1")) == key


def test_grants_are_stored(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_agent(JAN))
    mint = Grant("jan", "1", "mint", given_by="admin", given_at=AT)
    edit = Grant("jan", "1", "edit", True, "2028-01-01T00:00:00Z", "admin", AT)
    desk.write(lambda tx: (tx.put_grant(mint), tx.put_grant(edit)))
    assert desk.read(lambda reader: reader.grants("jan")) == [edit, mint]
    wider = msgspec.structs.replace(edit, own=False, until=None)
    desk.write(lambda tx: tx.put_grant(wider))
    assert desk.read(lambda reader: reader.grants("jan")) == [wider, edit, mint]  # one for all, one for one's own
    desk.write(lambda tx: (tx.remove_grant("jan", "1", "mint"), tx.remove_grant("jan", "2", "edit")))
    assert desk.read(lambda reader: reader.grants("jan")) == [wider, edit]
    desk.write(lambda tx: tx.remove_grant("jan", "1", "edit"))
    assert desk.read(lambda reader: reader.grants("jan")) == []


@pytest.mark.parametrize(
    "work",
    [
        lambda tx: tx.put_key(Key("k1", "unknown", b"", AT)),
        lambda tx: tx.put_grant(Grant("unknown", "1", "mint")),
    ],
)
def test_keys_and_grants_belong_to_an_agent(desk: Desk, work) -> None:
    with pytest.raises(PerdureError):
        desk.write(work)


def test_events_come_newest_first(desk: Desk) -> None:
    events = [Event(AT, "jan", "grant", f"agent {number}", "détail") for number in range(5)]
    for event in events:
        desk.write(lambda tx, event=event: tx.put_event(event))
    found = desk.read(lambda reader: reader.events(3))
    assert [msgspec.structs.replace(one, digest=b"") for one in found] == events[:1:-1]
    assert len({one.digest for one in found}) == 3


def test_facts_are_stored(desk: Desk) -> None:
    assert desk.read(lambda reader: reader.fact("registry")) is None
    desk.write(lambda tx: tx.put_fact("registry", "abc"))
    assert desk.read(lambda reader: reader.fact("registry")) == "abc"


def test_a_transaction_reads_its_own_writes(desk: Desk) -> None:
    def work(tx):
        tx.insert([change("1/a")])
        tx.put_timeline("1", Fraction(5), Fraction(1))
        return tx.find("1/a"), tx.timeline("1"), tx.newest_revision("1/a"), len(tx.search(["words"], 5))

    row, last, newest, hits = desk.write(work)
    assert row is not None
    assert newest is not None
    assert (last, hits) == (5, 1)


PEER = Peer(
    name="inpe",
    url="https://id.example.org",
    prefixes=("sid.inpe.br/mtc-m18", "*"),
    server="0" * 32,
    key="k" * 43,
    private=True,
    added=AT,
    announced=(HeldPrefix("ü"), HeldPrefix("10.1000", "copy")),
    checkpoint=1 << 52,
    seen=AT,
)


def test_a_peer_is_stored_field_by_field_and_can_be_changed_and_removed(desk: Desk) -> None:
    plain = Peer(name="doi", url="https://doi.org", added=AT)
    desk.write(lambda tx: [tx.put_peer(one) for one in (PEER, plain)])
    assert desk.read(lambda reader: reader.peers()) == [plain, PEER]
    changed = msgspec.structs.replace(
        PEER, url="https://id.example.net", prefixes=(), key=None, announced=(), seen=None
    )
    desk.write(lambda tx: tx.put_peer(changed))
    assert desk.read(lambda reader: reader.peer("inpe")) == changed
    desk.write(lambda tx: tx.remove_peer("inpe"))
    assert desk.read(lambda reader: reader.peers()) == [plain]


def test_two_peers_never_have_one_url(desk: Desk) -> None:
    desk.write(lambda tx: tx.put_peer(PEER))
    with pytest.raises(PerdureError):
        desk.write(lambda tx: tx.put_peer(msgspec.structs.replace(PEER, name="other")))
    assert desk.read(lambda reader: reader.peers()) == [PEER]
