"""A registry with an identifier of every kind that a resolver meets."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from tests.http.sample_registry import open_for_writing
from tests.postgres.shared_server import database
from tests.registry_fixture import FEW_PARTITIONS, need_engine

from perdure.folder.registry_folder import make_registry
from perdure.records.record import About, Tombstone
from perdure.records.value import Binary, Text, Value
from perdure.registry import (
    Agent,
    Registry,
    Statement,
    add_prefix,
    add_subsystem,
    mint,
    observe,
    reconstruct,
    revisions,
    update,
    withdraw,
)
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.store_interface import Transaction

PLAIN = "https://example.org/plain"
LOCATIONS = """<locations>
  <location id="never" href="https://example.org/never" weight="0"/>
  <location id="often" href="https://example.org/often" weight="1"/>
  <location id="british" href="https://example.org/british" country="gb" weight="0"/>
  <location id="data" href="https://example.org/data" weight="0" role="metadata" http_sc="303"/>
  <location id="bad" href="javascript:alert(1)" weight="1"/>
</locations>"""
ROLES = """<locations>
  <location href="https://example.org/any" http_role="no_conneg"/>
  <location href="https://example.org/forms" http_role="conneg" http_sc="307"/>
</locations>"""
FORMS = """<locations>
  <location href="https://example.org/landing"/>
  <location href="https://example.org/pdf" ctype="application/pdf" weight="0"/>
  <location href="https://example.org/ttl" media-type="Text/Turtle; charset=utf-8" http_sc="303"/>
</locations>"""
LANGUAGES = """<locations>
  <location href="https://example.org/en" language="en"/>
  <location href="https://example.org/pt" language="pt-BR"/>
  <location href="https://example.org/all" weight="0"/>
</locations>"""
DOCTYPE = """<!DOCTYPE locations [<!ENTITY a "https://example.org/entity">]>
<locations><location href="&a;"/></locations>"""
LONGEST_CHAIN = 10


def url(target: str, index: int = 1, **options: object) -> Value:
    return Value(index, "URL", Text(target), **options)  # type: ignore[arg-type]


def text(index: int, type: str, content: str, **options: object) -> Value:
    return Value(index, type, Text(content), **options)  # type: ignore[arg-type]


RECORDS: dict[str, tuple[Value, ...]] = {
    "plain": (url(PLAIN),),
    "odd?a#b c/é+": (url("https://example.org/odd"),),
    "short": (url("https://example.org/short", ttl=60),),
    "past": (url("https://example.org/past", ttl="2001-01-01T00:00:00Z"),),
    "bare": (text(1, "EMAIL", "archive@example.org"),),
    "several": (
        text(1, "EMAIL", "archive@example.org"),
        url("https://example.org/first", 2, ttl=30),
        url("https://example.org/second", 3),
        text(4, "URL.FR", "https://example.org/fr"),
        text(5, "DESC", "for administrators", permissions="1100"),
        Value(6, "THUMBNAIL", Binary(b"\x00\x01\xff")),
    ),
    "subtypes": (text(1, "URL.X", "javascript:alert(1)"), text(2, "url.y", "https://example.org/y")),
    "hostile": (
        text(1, "DESC", "<script>alert('x')</script>"),
        text(2, "<b>TYPE</b>", "javascript:alert(1)"),
        text(3, "SEE", "https://example.org/?a=1&b=<i>"),
    ),
    "alias": (text(1, "HS_ALIAS", "12345/several"), url("https://example.org/own", 2)),
    "abroad": (text(1, "HS_ALIAS", "99999/elsewhere"),),
    "fleeting": (text(1, "HS_ALIAS", "12345/plain", ttl=0),),
    "lasting": (text(1, "HS_ALIAS", "12345/plain", ttl=864_000),),
    "back": (text(1, "HS_ALIAS", "12345/returned"),),
    "one": (text(1, "HS_ALIAS", "12345/other"),),
    "other": (text(1, "HS_ALIAS", "12345/one"),),
    "self": (text(1, "HS_ALIAS", "12345/self"),),
    **{f"chain{n}": (text(1, "HS_ALIAS", f"12345/chain{n - 1}"),) for n in range(1, LONGEST_CHAIN + 2)},
    "chain0": (url(PLAIN),),
    "locations": (text(1, "10320/loc", LOCATIONS, ttl=120), url("https://example.org/legacy", 2)),
    "roles": (text(1, "10320/LOC", ROLES),),
    "forms": (text(1, "10320/loc", FORMS),),
    "languages": (text(1, "10320/loc", LANGUAGES),),
    "doctype": (text(1, "10320/loc", DOCTYPE), url("https://example.org/safe", 2)),
    "broken": (text(1, "10320/loc", "<locations"), url("https://example.org/whole", 2)),
    "hidden": (
        url("https://example.org/hidden", 1, permissions="1100"),
        text(2, "HS_ALIAS", "12345/plain", permissions="1100"),
        text(3, "10320/loc", LOCATIONS, permissions="1100"),
    ),
    "letter": (url("mailto:archive@example.org"),),
    "roots": (url("https://example.org"),),
    "gone": (url("https://example.org/gone"),),
    "gone-alone": (url("https://example.org/gone"),),
    "united": (url("https://example.org/united"),),
    "returned": (url("https://example.org/returned"),),
}


class Names(msgspec.Struct, frozen=True):
    """The names that were chosen by the minter."""

    pilin: str
    slip: str
    label: str
    opaque: str
    observation: str
    person: str


@contextmanager
def resolvable_registry(folder: Path, engine: str) -> Iterator[Names]:
    """Create the registry in a folder on an engine, and remove it from a database server afterwards."""
    need_engine(engine)
    schema = f"t_{secrets.token_hex(6)}"
    store = {"store": database().address(schema), "postgresql": FEW_PARTITIONS} if engine == "postgres" else {}
    try:
        yield asyncio.run(_fill(folder, store))
    finally:
        if store:
            database().drop(schema)


async def _fill(folder: Path, store: dict[str, object]) -> Names:
    await make_registry(folder, name="The Library of Tests", **store)  # type: ignore[arg-type]
    async with open_for_writing(folder) as (registry, admin):
        await add_prefix(registry, admin, "12345", minter="chosen")
        await add_prefix(registry, admin, "12346")
        await add_prefix(registry, admin, "12347", minter="chosen", case_sensitive=False)
        await add_prefix(registry, admin, "12348", minter="chosen", pass_through=True)
        for suffix, values in RECORDS.items():
            await mint(registry, admin, "12345", statement=Statement(values=values), suffixes=[suffix])
        about = About(who="Ada <Lovelace>", what="Notes & sketches", when="1843")
        await mint(registry, admin, "12345", statement=Statement(PLAIN, about=about), suffixes=["told"])
        await mint(registry, admin, "12345", suffixes=["kept"])
        await mint(registry, admin, "12347", statement=Statement("https://example.org/mixed"), suffixes=["MiXed"])
        for suffix, target in (("base", "https://example.org/base"), ("base/deep", "https://example.org/deep?x=1")):
            await mint(registry, admin, "12348", statement=Statement(target), suffixes=[suffix])
        await mint(registry, admin, "12348", statement=Statement(values=RECORDS["bare"]), suffixes=["mute"])
        await mint(registry, admin, "12348", statement=Statement("https://example.org"), suffixes=["root"])
        await mint(registry, admin, "12348", statement=Statement(PLAIN), suffixes=["joined"])
        await withdraw(registry, admin, "12345/gone", "it was a <mistake>", replaced_by="12345/plain")
        await withdraw(registry, admin, "12345/gone-alone", "asked for by its author")
        await merge(registry, admin, "12345/united", "hdl:12345/plain")
        await merge(registry, admin, "12348/joined", "hdl:12348/base")
        await merge(registry, admin, "12345/returned", "hdl:12345/back")
        growing = Statement(values=(text(1, "HS_ALIAS", "12348/growing/on"),))
        await mint(registry, admin, "12348", statement=growing, suffixes=["growing"])
        subsystem = await add_subsystem(registry, admin, "archive.example.org", "150.163.34.243")
        (pilin,) = await mint(registry, admin, "12346", statement=Statement("https://example.org/pilin"))
        (slip,) = await mint(registry, admin, "12346", statement=Statement("https://example.org/"))
        own_slip = Statement(values=(text(2, "HS_ALIAS", slip.name.lower()),))
        await update(registry, admin, slip.name, own_slip)
        (pair,) = await mint(registry, admin, subsystem.name, statement=Statement("https://example.org/ibi"))
        seen = await observe(registry, admin, "https://example.org/staff", "2025-01-09T10:30:00Z", "a" * 64)
        person = await reconstruct(registry, admin, [seen.name], admin.identifier, "2025-01-09T10:30:00Z")
        assert pair.alias is not None
        return Names(pilin.name, slip.name, pair.name, pair.alias, seen.name, person.name)


async def merge(registry: Registry, admin: Agent, name: str, survivor: str) -> None:
    """Merge one identifier into another."""

    def work(tx: Transaction) -> None:
        found, record, _ = require_identifier(tx, name)
        merged = msgspec.structs.replace(record, state="merged", tombstone=Tombstone("the same thing", survivor))
        revisions.append_revision(tx, found, merged, admin, "merge", registry.current_time())

    await registry.store.write(work)
