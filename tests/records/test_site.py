"""Sites: the bytes of Handle servers, and the JSON of their clients."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.records.public_key import RsaKey, to_jwk
from perdure.records.site import Attribute, Interface, Server, Site, from_json, from_wire, to_json, to_wire

numbers = st.integers(0, 0xFFFFFFFF)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# An address of version 6 that begins with twelve zero bytes is written as one of version 4.
addresses = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).filter(lambda one: int(one) >> 32).map(str))
public_keys = st.one_of(
    st.none(),
    st.builds(RsaKey, numbers, numbers).map(lambda key: {"format": "key", "value": to_jwk(key)}),
    st.just({"format": "base64", "value": "AAEC"}),
)
interfaces = st.builds(
    Interface, st.booleans(), st.booleans(), st.sampled_from(["UDP", "TCP", "HTTP", "HTTPS"]), numbers
)
servers = st.builds(Server, numbers, addresses, public_keys, st.lists(interfaces, max_size=3).map(tuple))
bytes_ = st.integers(0, 255)
sites = st.builds(
    Site,
    serial_number=st.integers(0, 0xFFFF),
    primary_site=st.booleans(),
    multi_primary=st.booleans(),
    servers=st.lists(servers, max_size=3).map(tuple),
    protocol_version=st.builds(lambda major, minor: f"{major}.{minor}", bytes_, bytes_),
    hash_option=st.sampled_from([0, 1, 2]),
    hash_filter=texts,
    attributes=st.lists(st.builds(Attribute, texts, texts), max_size=3).map(tuple),
)

PLAIN = {
    "version": 1,
    "protocolVersion": "2.11",
    "serialNumber": 1,
    "primarySite": True,
    "multiPrimary": False,
    "attributes": [{"name": "desc", "value": "x"}],
    "servers": [
        {
            "serverId": 1,
            "address": "10.0.0.1",
            "interfaces": [{"query": True, "admin": True, "protocol": "TCP", "port": 2641}],
        }
    ],
}


@given(sites)
def test_a_site_is_read_back_from_json_and_from_bytes(site: Site) -> None:
    assert from_wire(to_wire(site)) == site
    written = msgspec.json.decode(msgspec.json.encode(to_json(site)))
    assert from_json(written) == site
    assert to_wire(from_json(written)) == to_wire(site)


def test_the_bytes_have_the_layout_of_handle_servers() -> None:
    wire = (
        b"\x00\x01\x02\x0b\x00\x01\x80\x02" + bytes(4)
        + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x04desc" + b"\x00\x00\x00\x01x"
        + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01" + bytes(12) + b"\x0a\x00\x00\x01" + bytes(4)
        + b"\x00\x00\x00\x01" + b"\x03\x01\x00\x00\x0a\x51"
    )  # fmt: skip
    assert to_wire(from_json(PLAIN)) == wire
    assert to_json(from_wire(wire)) == PLAIN


@given(st.binary(max_size=80))
def test_any_bytes_are_a_site_or_refused(raw: bytes) -> None:
    try:
        site = from_wire(raw)
    except InvalidInput:
        return
    assert to_wire(site) == raw


@given(sites, st.data())
def test_a_site_that_is_too_short_or_too_long_is_refused(site: Site, data: st.DataObject) -> None:
    wire = to_wire(site)
    for wrong in (wire[: data.draw(st.integers(0, len(wire) - 1))], wire + b"\0"):
        with pytest.raises(InvalidInput):
            from_wire(wrong)


def test_an_impossible_number_of_servers_is_refused() -> None:
    with pytest.raises(InvalidInput, match="fewer items"):
        from_wire(b"\x00\x01\x02\x0b\x00\x01\x80\x02" + bytes(4) + b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("version", 2),
        ("protocolVersion", "2"),
        ("protocolVersion", "2.x"),
        ("protocolVersion", "2.256"),
        ("protocolVersion", "²·1"),
        ("serialNumber", 70_000),
        ("serialNumber", "1"),
        ("primarySite", "yes"),
        ("hashOption", 3),
        ("servers", [{"serverId": 1}]),
        ("servers", [{"serverId": 1, "address": "example.org"}]),
        ("servers", [{"serverId": 1, "address": "10.0.0.1", "publicKey": {"format": "key", "value": {}}}]),
        ("servers", [{"serverId": 1, "address": "10.0.0.1", "publicKey": {"format": "base64", "value": "?"}}]),
        ("servers", [{"serverId": 1, "address": "10.0.0.1", "publicKey": {}}]),
        ("servers", None),
    ],
)
def test_an_invalid_site_is_refused(part: str, value: Any) -> None:
    with pytest.raises(InvalidInput):
        from_json({**PLAIN, part: value})


def test_a_site_is_an_object() -> None:
    for wrong in (None, [], "site"):
        with pytest.raises(InvalidInput):
            from_json(wrong)
