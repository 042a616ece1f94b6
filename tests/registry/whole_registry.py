"""A registry with one of everything in it, and its whole stored content, for comparisons."""

from fractions import Fraction
from typing import Any, Final

from tests.registry_fixture import Office, describe, set_target

from perdure.formats.import_entries import ImportPut
from perdure.records.record import About
from perdure.records.value import Binary, Text, Value
from perdure.registry import (
    Statement,
    add_agent,
    add_pool,
    add_subsystem,
    bind,
    derive_prefix,
    grant,
    import_entries,
    mint,
    new_key,
    observe,
    reconstruct,
    reinstate,
    reset_timeline,
    revise_reconstruction,
    revoke_key,
    withdraw,
)
from perdure.registry.bootstrap import REGISTRY
from perdure.registry.entities import ResolutionCount
from perdure.registry.holdings import Collection, Holding
from perdure.registry.secret_box import store_secret
from perdure.registry.store_interface import Reader
from perdure.registry.transfers import transfer_identifiers

CHOSEN, DATED, NUMBERED, RANDOM = "12345", "12346", "777", "888"
PAIRED: Final = "sid.inpe.br/mtc-m18"
MINTERS: Final = (DATED, NUMBERED, RANDOM, PAIRED)
SECRET: Final = b"unreadable in a copy"
URL: Final = "https://example.org/"
WHEN: Final = "2025-01-09T10:30:00Z"
CURATOR: Final = "https://orcid.org/0000-0002-1825-0097"
CHECKPOINT: Final = "names.csv"
# Two sources whose person identifiers collide: the second one takes a successor's name.
COLLIDING: Final = tuple(f"https://example.org/archive/{number}" for number in (291994108, 292908847))
EMPTY: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def fill_registry(office: Office) -> None:
    """Add all kinds of names with a history, agents with keys and grants, and all facts of the registry."""
    _add_prefixes_and_people(office)
    _add_handles(office)
    _add_pairs(office)
    _add_persons(office)
    office.do(import_entries, [ImportPut(line=2, name=f"{CHOSEN}/imported", target=URL)], checkpoint=CHECKPOINT)


def _add_prefixes_and_people(office: Office) -> None:
    office.prefix(CHOSEN, "chosen")
    office.prefix(DATED)
    office.prefix(NUMBERED, "sequential", pattern="thesis-####", case_sensitive=False, policy="Never again – ever.")
    office.prefix(RANDOM, "uuid", pass_through=True)
    office.do(derive_prefix, f"{NUMBERED}.1", minter="chosen")
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=Fraction(1, 10))
    office.hire("maria", CHOSEN, "mint", "edit", own=True, until="2099-01-01T00:00:00Z")
    office.do(grant, "maria", DATED, ["withdraw"])
    office.do(add_agent, "harvester", "Ernte-Programm Ä", kind="program")
    office.do(new_key, "maria", label="laptop ☂", expires="2098-01-01T00:00:00Z")
    revoked, _ = office.do(new_key, "harvester")
    office.do(revoke_key, revoked.id)


def _add_handles(office: Office) -> None:
    values = (
        Value(2, "EMAIL", Text("desk@example.org"), "", 600, "1110"),
        Value(3, "DESC", Text('said "so",\nover two lines; ünïcode \U0001f4da')),
        Value(4, "THUMB", Binary(b"\x89PNG\x00")),
        Value(6, "NOTE", Text("not for all"), "", 86_400, "1100"),
    )
    office.do(mint, CHOSEN, statement=Statement(URL, values, About(what="On lasting")), suffixes=["a"])
    sealer = office.registry.sealer
    office.run(office.registry.store.write(lambda tx: store_secret(tx, sealer, f"{CHOSEN}/a", 300, SECRET)))
    office.do(
        mint, CHOSEN, suffixes=["日本語/ß", "quoted \"\\\" 'name'", "e\u0301", "é"], statement=Statement(f"{URL}u")
    )
    office.clock.step(10)
    office.do(set_target, f"{CHOSEN}/a", f"{URL}new", expected_version=1)
    office.clock.step(10)
    office.do(describe, f"{CHOSEN}/a", About(who="M. Silva", when="1998"))
    office.do(mint, DATED, 3, statement=Statement(URL, owners=("https://example.org/people/maria",)))
    [_, bound] = office.do(mint, DATED, 2)
    office.clock.step(10)
    office.do(bind, bound.name, Statement(f"{URL}bound"))
    office.do(transfer_identifiers, [bound.name], "maria")
    office.do(mint, RANDOM, 4, statement=Statement(URL))
    [withdrawn, back, *_] = office.do(mint, NUMBERED, 4, statement=Statement(URL))
    office.clock.step(10)
    office.do(withdraw, withdrawn.name, "retracted", replaced_by=f"{CHOSEN}/a")
    office.do(withdraw, back.name, "a mistake")
    office.clock.step(10)
    office.do(reinstate, back.name)
    office.do(reset_timeline, NUMBERED, "a paper ledger was found", number=50)


def _add_pairs(office: Office) -> None:
    [pair, _, gone] = office.do(mint, PAIRED, 3, statement=Statement(f"{URL}ibi"))
    office.clock.step(10)
    office.do(set_target, pair.alias, f"{URL}ibi2")
    office.do(withdraw, gone.name, "empty")
    _put_holdings(office, pair.name)
    office.do(add_pool, "main", [PAIRED], policy="hash")
    office.do(mint, "main", item_key="ü")


def _put_holdings(office: Office, name: str) -> None:
    """Record an original with a copy, and two days of resolutions."""
    for collection in (Collection("main", "/items", None, WHEN), Collection("second", "/copy", f"{URL}copy", WHEN)):
        office.run(office.registry.store.write(lambda tx, one=collection: tx.put_collection(one)))
    original = Holding(
        name, "main", name, "original", WHEN, 2, 3, 1 << 40, "ab" * 32, "ü.pdf", WHEN, "put", WHEN, "valid"
    )
    copy = Holding(name, "second", name, "copy", WHEN, 1, 1, 7, "cd" * 32, None, WHEN, "main")
    office.run(office.registry.store.write(lambda tx: (tx.put_holding(copy), tx.put_holding(original))))
    counts = [ResolutionCount(name, f"2026-11-0{day}", "browser", day) for day in (1, 2)]
    office.run(office.registry.store.write(lambda tx: tx.add_resolutions(counts)))


def _add_persons(office: Office) -> None:
    people = [office.do(observe, url, WHEN, EMPTY) for url in COLLIDING]
    made = office.do(reconstruct, [people[0].name], CURATOR, WHEN)
    office.do(revise_reconstruction, made.name, [one.name for one in people], CURATOR, "2026-01-09T10:30:00Z")
    gone = office.do(observe, "https://example.org/staff/jan", WHEN, "0" * 64)
    office.do(withdraw, gone.name, "asked for by the person")


def stored_content(reader: Reader) -> dict[str, Any]:
    """Return everything, part by part, except the facts of the store about its own moves and size."""
    rows = reader.identifiers_after("", 1_000_000)
    inputs = {row.key: raw for row in rows if (raw := reader.input_uuid(row.key)) is not None}
    agents = reader.agents()
    return {
        "rows": rows,
        "revisions": {row.key: reader.revisions(row.key) for row in rows},
        "inputs": inputs,
        "persons": reader.persons(sorted(inputs.values())),
        "secrets": reader.secrets(),
        "derivations": {row.key: reader.derivations(row.key) for row in rows if row.scheme == "ppid"},
        "prefixes": reader.prefixes(),
        "timelines": reader.timelines(),
        "agents": agents,
        "keys": {agent.id: reader.keys(agent.id) for agent in agents},
        "grants": {agent.id: reader.grants(agent.id) for agent in agents},
        "events": [event for event in reader.events(100_000) if event.action != "move"],
        "facts": {name: value for name, value in reader.facts().items() if name != "move"},
        "resolutions": reader.resolutions_after(("", "", ""), 1000),
        "pools": reader.pools(),
        "collections": reader.collections(),
        "holdings": {one.name: reader.holdings_after(one.name, "", 1000) for one in reader.collections()},
        "counts": {name: count for name, count in reader.counts().items() if name != "bytes"},
    }


def search_results(reader: Reader) -> dict[str, Any]:
    """Return the results of search and reverse look-up, in their order."""
    words = (
        ["example.org"],
        ["example*"],
        ["ünïcode"],
        ["silva"],
        ["12345"],
        ["日本語"],
        ["said", "so"],
        ["777", "thesis*"],
    )
    data = (URL, f"{URL}new", f"{URL}u", f"{URL}ibi", f"{URL}ibi2", "desk@example.org")
    hits = {" ".join(one): reader.search(one, 1000) for one in words}
    return hits | {one: (reader.find_by_value(one, None, 1000), reader.find_by_value(one, "URL", 1000)) for one in data}


def identity(reader: Reader) -> str | None:
    """Return the registry's identity; None if the store is not a registry."""
    return reader.fact(REGISTRY)
