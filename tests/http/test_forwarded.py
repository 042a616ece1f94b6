"""Who the client is, where a trusted proxy says so: an address, however the proxy writes it."""

from pathlib import Path

import pytest
from tests.http.handle_client import ADMIN, basic_header, door_on, request

from perdure.errors import BadKey
from perdure.http.authentication.attempts import FREE
from perdure.http.message import Request
from perdure.http.refusals import PlainCredentials, TooManyAttempts
from perdure.http_options import HttpOptions

PROXY = "127.0.0.1"
TRUSTING = HttpOptions(trusted_proxies=(PROXY, "10.0.0.0/8", "2001:db8:ffff::/48"))


def forwarded(said: str, options: HttpOptions = TRUSTING) -> Request:
    return request(options, {"X-Forwarded-For": said}, PROXY)


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:1024", "203.0.113.9"),
        ("2001:db8::9", "2001:db8::9"),
        ("2001:DB8:0::9", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("[2001:db8::9]:1024", "2001:db8::9"),
        (" 192.0.2.1 , 203.0.113.9:1024 ", "203.0.113.9"),
        ("203.0.113.9, 10.0.0.1:5000", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, [::ffff:10.0.0.1]:5000", "203.0.113.9"),
        ("203.0.113.9:1, [2001:db8:ffff::1]:5000, 10.0.0.1", "203.0.113.9"),
    ],
)
def test_a_port_and_brackets_are_no_part_of_an_address(said: str, client: str) -> None:
    assert forwarded(said).client == client


@pytest.mark.parametrize(
    "said",
    [
        "unknown",
        "_hidden",
        "",
        "203.0.113.9:port",
        "203.0.113.9:",
        "[203.0.113.9",
        "203.0.113",
        "192.0.2.1, unknown",
        "][",
    ],
)
def test_what_is_no_address_is_not_believed(said: str) -> None:
    """Whoever could write anything there would be somebody else each time."""
    assert forwarded(said).client == PROXY


@pytest.mark.parametrize("proxies", [("10.0.0.0/8",), ("::ffff:10.0.0.0/104",), ("::ffff:10.0.0.1",)])
def test_a_proxy_is_trusted_in_either_dress_of_its_address(proxies: tuple[str, ...]) -> None:
    for peer in ("10.0.0.1", "::ffff:10.0.0.1"):
        asked = request(HttpOptions(trusted_proxies=proxies), {"X-Forwarded-For": "203.0.113.9"}, peer)
        assert asked.client == "203.0.113.9"


def test_an_address_that_cannot_be_read_does_not_make_a_client_this_machine() -> None:
    assert forwarded("127.0.0.1").is_loopback
    for said in ("unknown", "192.0.2.1, unknown", "203.0.113.9:port"):
        assert not forwarded(said).is_loopback


def test_who_comes_from_another_port_each_time_is_one_client(tmp_path: Path) -> None:
    with door_on("sqlite", tmp_path) as door:
        door.with_options(trusted_proxies=(PROXY,))

        def guess(port: int) -> None:
            headers = {"X-Forwarded-For": f"203.0.113.9:{port}", "X-Forwarded-Proto": "https"}
            door.ask(headers | {"Authorization": basic_header(f"300:{ADMIN}", "wrong")}, client=PROXY)

        for port in range(FREE):
            with pytest.raises(BadKey):
                guess(1024 + port)
        with pytest.raises(TooManyAttempts):
            guess(2048)


def test_over_plain_http_a_client_that_nobody_can_name_shows_no_credentials(tmp_path: Path) -> None:
    with door_on("sqlite", tmp_path) as door:
        door.with_options(trusted_proxies=(PROXY,))
        shown = {"Authorization": f"Bearer {door.office.key}", "X-Forwarded-For": "unknown"}
        with pytest.raises(PlainCredentials):
            door.ask(shown, client=PROXY)
        assert door.ask(shown | {"X-Forwarded-Proto": "https"}, client=PROXY) is not None
