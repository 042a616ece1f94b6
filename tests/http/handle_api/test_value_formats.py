"""The formats of values, in and out."""

from base64 import b64encode
from typing import Any

import pytest
from tests.http.handle_server import HandleOffice, administrator, code, text

from perdure.records import public_key, site

RSA = {"kty": "RSA", "n": "AMUhm-_x", "e": "AQAB"}
DSA = {"kty": "DSA", "y": "AQ", "p": "_w", "q": "Bw", "g": "Ag"}
SITE = {
    "version": 1,
    "protocolVersion": "2.11",
    "serialNumber": 3,
    "primarySite": True,
    "multiPrimary": False,
    "attributes": [{"name": "desc", "value": "Ours"}],
    "servers": [
        {
            "serverId": 1,
            "address": "192.0.2.7",
            "publicKey": {"format": "key", "value": {"kty": "RSA", "n": "xSGb", "e": "AQAB"}},
            "interfaces": [{"query": True, "admin": False, "protocol": "TCP", "port": 2641}],
        }
    ],
}


def put_and_show(office: HandleOffice, type: str, data: Any) -> Any:
    """Put a value, and return its data as the server shows it."""
    name = office.name()
    answer = office.put(name, [administrator(), {"index": 1, "type": type, "data": data}], office.key)
    assert code(answer) == (201, 1), answer.text
    return office.values(name)[1]["data"]


def of(format: str, value: Any) -> dict[str, Any]:
    return {"format": format, "value": value}


@pytest.mark.parametrize(
    ("type", "given", "expected"),
    [
        ("DESC", "bare", of("string", "bare")),
        ("DESC", of("STRING", "é 日本 🎈"), of("string", "é 日本 🎈")),
        ("DESC", of("string", ""), of("string", "")),
        ("DESC", of("string", "two\nlines\tand a tab"), of("string", "two\nlines\tand a tab")),
        ("DESC", of("string", "a\x0bb\u2028c\x85"), of("string", "a\x0bb\u2028c\x85")),
        ("DESC", of("string", "nul\x00"), of("base64", b64encode(b"nul\x00").decode())),
        ("DESC", of("base64", b64encode("text é".encode()).decode()), of("string", "text é")),
        ("DESC", of("base64", "/wA="), of("base64", "/wA=")),
        ("DESC", of("base64", "_wA"), of("base64", "/wA=")),
        ("DESC", of("base64", " /w\r\n A=\r\n"), of("base64", "/wA=")),
        ("DESC", 42, of("string", "42")),
        ("DESC", -3, of("string", "-3")),
        ("DESC", 10**30, of("string", str(10**30))),
        ("DESC", True, of("string", "true")),
        ("DESC", False, of("string", "false")),
        ("DESC", of("string", 42), of("string", "42")),
        ("DESC", of("string", False), of("string", "false")),
        ("DESC", of("Hex", "ff00"), of("base64", "/wA=")),
        ("DESC", of("hex", "616263"), of("string", "abc")),
        ("URL", of("hex", b"https://example.org/".hex()), of("string", "https://example.org/")),
        ("HS_VLIST", of("vlist", [{"index": "300", "handle": "1/a"}]), of("vlist", [{"handle": "1/a", "index": 300}])),
        ("HS_VLIST", of("vlist", []), of("vlist", [])),
        ("HS_PUBKEY", of("key", RSA), of("key", {**RSA, "n": "xSGb7_E"})),
        ("HS_PUBKEY", of("key", DSA), of("key", DSA)),
        ("HS_PUBKEY", of("base64", "AAEC"), of("base64", "AAEC")),
        ("hs_site", of("site", SITE), of("site", SITE)),
        ("HS_SITE.PREFIX", of("site", SITE), of("site", SITE)),
        ("HS_NA_DELEGATE", of("site", SITE), of("site", SITE)),
        ("HS_SITE", of("base64", "AAEC"), of("base64", "AAEC")),
    ],
)
def test_data_is_shown_in_the_format_of_its_type(office: HandleOffice, type: str, given: Any, expected: Any) -> None:
    assert put_and_show(office, type, given) == expected


@pytest.mark.parametrize("number", ["1.50", "1.0", "1e3", "-0.0", "6.02214076E+23", "3.141592653589793238462643"])
def test_a_number_is_stored_as_it_was_written(office: HandleOffice, number: str) -> None:
    one = '{"index": %d, "type": "DESC", "data": %s}'
    formatted = f'{{"format": "string", "value": {number}}}'
    bodies = (
        f"[{one % (1, number)}]",
        f'{{"values": [{one % (2, "7")}, {one % (1, number)}]}}',
        one % (1, number),
        f"[{one % (1, formatted)}]",
    )
    for body in bodies:
        name = office.name()
        headers = {"Content-Type": "application/json"}
        assert code(office.admin.put(f"/api/handles/{name}", content=body, headers=headers)) == (201, 1)
        assert office.values(name)[1]["data"] == of("string", number)


def test_a_body_may_begin_with_a_byte_order_mark(office: HandleOffice) -> None:
    name = office.name()
    content, headers = b'\xef\xbb\xbf[{"index": 1, "type": "DESC", "data": "x"}]', {"Content-Type": "application/json"}
    assert code(office.admin.put(f"/api/handles/{name}", content=content, headers=headers)) == (201, 1)
    read = office.anonymous.post(f"/api/handles/{name}", content=b'\xef\xbb\xbf{"index": 1}', headers=headers)
    assert [value["index"] for value in read.json()["values"]] == [1]


def test_data_of_a_known_type_may_be_sent_as_bytes(office: HandleOffice) -> None:
    wire = b"\x07\xf3" + b"\x00\x00\x00\x08" + b"21.T1/me" + b"\x00\x00\x01\x2c"
    expected = of("admin", {"handle": "21.T1/me", "index": 300, "permissions": "011111110011"})
    assert put_and_show(office, "HS_ADMIN", of("base64", b64encode(wire).decode())) == expected
    key = public_key.to_wire(public_key.from_jwk(RSA))
    assert put_and_show(office, "HS_PUBKEY", of("hex", key.hex())) == of("key", {**RSA, "n": "xSGb7_E"})
    raw = site.to_wire(site.from_json(SITE))
    assert put_and_show(office, "HS_SITE", of("hex", raw.hex())) == of("site", SITE)


def test_numbers_may_be_sent_as_text(office: HandleOffice) -> None:
    name = office.name()
    sent = [administrator(at="300"), text("7", "DESC", "x", ttl="60")]
    assert code(office.put(name, sent)) == (201, 1)
    values = office.values(name)
    assert values[7]["ttl"] == 60
    assert values[100]["data"]["value"]["index"] == 300


def test_permissions_ttls_and_references_are_stored(office: HandleOffice) -> None:
    name = office.make(
        text(1, "A", "x", permissions="0010", ttl=0),
        text(2, "B", "x", permissions="1110", ttl="2031-01-01T12:00:00+02:00"),
        text(3, "C", "x", references=[{"index": 5, "handle": "1/a"}, {"index": "6", "handle": "1/b"}]),
    )
    values = office.values(name)
    assert (values[1]["permissions"], values[1]["ttl"]) == ("0010", 0)
    assert "permissions" not in values[2]
    assert values[2]["ttl"] == "2031-01-01T10:00:00Z"
    assert values[3]["references"] == [{"handle": "1/a", "index": 5}, {"handle": "1/b", "index": 6}]


def test_the_server_sets_the_timestamps(office: HandleOffice) -> None:
    for timestamp in ("1999-01-01T00:00:00Z", 12, None, "nonsense"):
        name = office.make(text(1, "A", "x", timestamp=timestamp))
        assert office.values(name)[1]["timestamp"] > "2020"


def test_a_record_can_be_written_back_as_it_was_read(office: HandleOffice) -> None:
    name = office.make(
        text(1, "URL", "https://example.org/"),
        {"index": 2, "type": "HS_SITE", "data": of("site", SITE)},
        text(4, "DESC", "x", permissions="1100", ttl=5),
    )
    before = office.get(name, office.admin)
    assert code(office.put(name, before.json())) == (200, 1)
    assert office.get(name, office.admin).json() == before.json()


def test_the_fast_path_and_the_application_show_keys_and_sites_alike(office: HandleOffice) -> None:
    name = office.make({"index": 2, "type": "HS_SITE", "data": of("site", SITE)})
    fast = office.anonymous.get(f"/api/handles/{name}", headers={"Accept": "*/*"})
    slow = office.anonymous.get(f"/api/handles/{name}", headers={"Content-Length": "0"})
    assert fast.content == slow.content
    assert b'"format":"site"' in fast.content
