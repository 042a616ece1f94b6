"""The client that a trusted proxy names, in every spelling of its address."""

from pathlib import Path

import pytest
from tests.http.handle_client import ADMIN, authenticator_on, basic_header, request

from perdure.errors import BadKey
from perdure.http.auth.rate_limit import FREE
from perdure.http.shared.http_errors import InsecureCredentials, TooManyAttempts
from perdure.http.shared.proxy_headers import read_origin
from perdure.http.shared.request import Request
from perdure.http_options import HttpOptions

PROXY = "127.0.0.1"
TRUSTING = HttpOptions(trusted_proxies=(PROXY, "10.0.0.0/8", "2001:db8:ffff::/48"))


def forwarded_request(header: str, options: HttpOptions = TRUSTING) -> Request:
    return request(options, {"X-Forwarded-For": header}, PROXY)


@pytest.mark.parametrize(
    ("header", "client"),
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
        ("203.0.113.9:_hidden", "203.0.113.9"),
        ("203.0.113.9, [::ffff:10.0.0.1]:5000", "203.0.113.9"),
        ("203.0.113.9:1, [2001:db8:ffff::1]:5000, 10.0.0.1", "203.0.113.9"),
    ],
)
def test_a_port_and_brackets_are_not_part_of_an_address(header: str, client: str) -> None:
    assert forwarded_request(header).client == client


@pytest.mark.parametrize(
    "header",
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
def test_a_header_that_is_not_an_address_is_ignored(header: str) -> None:
    """If a client could write anything there, it would count as another client each time."""
    assert forwarded_request(header).client == PROXY


@pytest.mark.parametrize("proxies", [("10.0.0.0/8",), ("::ffff:10.0.0.0/104",), ("::ffff:10.0.0.1",)])
def test_a_proxy_is_trusted_by_its_ipv4_and_its_mapped_ipv6_address(proxies: tuple[str, ...]) -> None:
    for peer in ("10.0.0.1", "::ffff:10.0.0.1"):
        made = request(HttpOptions(trusted_proxies=proxies), {"X-Forwarded-For": "203.0.113.9"}, peer)
        assert made.client == "203.0.113.9"


def test_an_invalid_address_is_not_treated_as_this_machine() -> None:
    assert forwarded_request("127.0.0.9").is_loopback
    for header in ("unknown", "192.0.2.1, unknown", "203.0.113.9:port", "127.0.0.1", "127.0.0.1, 10.0.0.1"):
        assert not forwarded_request(header).is_loopback


def test_requests_from_different_ports_are_one_client(tmp_path: Path) -> None:
    with authenticator_on("sqlite", tmp_path) as fixture:
        fixture.with_options(trusted_proxies=(PROXY,))

        def guess(port: int) -> None:
            headers = {"X-Forwarded-For": f"203.0.113.9:{port}", "X-Forwarded-Proto": "https"}
            fixture.authenticate(headers | {"Authorization": basic_header(f"300:{ADMIN}", "wrong")}, client=PROXY)

        for port in range(FREE):
            with pytest.raises(BadKey):
                guess(1024 + port)
        with pytest.raises(TooManyAttempts):
            guess(2048)


def test_credentials_of_an_unknown_client_over_plain_http_are_refused(tmp_path: Path) -> None:
    with authenticator_on("sqlite", tmp_path) as fixture:
        fixture.with_options(trusted_proxies=(PROXY,))
        shown = {"Authorization": f"Bearer {fixture.office.key}", "X-Forwarded-For": "unknown"}
        with pytest.raises(InsecureCredentials):
            fixture.authenticate(shown, client=PROXY)
        assert fixture.authenticate(shown | {"X-Forwarded-Proto": "https"}, client=PROXY) is not None


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("for=203.0.113.9", "203.0.113.9"),
        ("For=203.0.113.9;Proto=http;by=10.0.0.1", "203.0.113.9"),
        ('for="203.0.113.9:1024"', "203.0.113.9"),
        ('for="[2001:db8::9]"', "2001:db8::9"),
        ('for="[2001:db8::9]:1024" ; host="a,b;c\\"d"', "2001:db8::9"),
        ('for="\\2\\03.0.113.9"', "203.0.113.9"),
        ("for=192.0.2.1, for=203.0.113.9, for=10.0.0.1", "203.0.113.9"),
        ("for=_hidden,for=203.0.113.9;;,", "203.0.113.9"),
    ],
)
def test_forwarded_names_the_client(header: str, client: str) -> None:
    made = request(TRUSTING, {"Forwarded": header}, PROXY)
    assert (made.client, made.is_client_known) == (client, True)
    ignored = request(TRUSTING, {"Forwarded": header}, "192.0.2.7")
    assert (ignored.client, ignored.is_client_known) == ("192.0.2.7", True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "for=unknown",
        "for=_hidden",
        "for=127.0.0.9, for=unknown",
        "proto=https",
        "for=127.0.0.9;for=127.0.0.8",
        'for="127.0.0.9',
        'for=127.0.0.9;x=", for="203.0.113.9"',
        "127.0.0.9",
        "for=127.0.0.9 by=10.0.0.1",
        "for=127.0.0.1",
        'for=127.0.0.1, for="10.0.0.1:80"',
    ],
)
def test_a_client_that_forwarded_does_not_name_is_unknown(header: str) -> None:
    made = request(TRUSTING, {"Forwarded": header}, PROXY)
    assert (made.client, made.is_client_known, made.is_loopback) == (PROXY, False, False)


def test_several_lines_of_forwarded_are_one_list() -> None:
    lines = [(b"forwarded", b"for=127.0.0.9"), (b"forwarded", b"for=203.0.113.9"), (b"forwarded", b"for=10.0.0.1")]
    assert read_origin(lines, PROXY, False, TRUSTING).client == "203.0.113.9"


def test_a_request_without_a_client_is_from_an_unknown_client() -> None:
    for made in (request(TRUSTING, {}, PROXY), request(HttpOptions(), {}, "")):
        assert not made.is_client_known
        assert not made.is_loopback
    for options in (HttpOptions(), HttpOptions(trusted_proxies=("10.0.0.0/8",))):
        assert request(options, {}, PROXY).is_loopback, "this machine asks for itself"
        for name in ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"):
            assert not request(options, {name: "for=203.0.113.9"}, PROXY).is_loopback, "a proxy on this machine asks"


def test_a_proxy_on_another_machine_does_not_name_this_machine() -> None:
    for headers in ({"X-Forwarded-For": "127.0.0.9"}, {"Forwarded": "for=127.0.0.9"}):
        assert request(TRUSTING, headers, PROXY).is_loopback
        assert not request(TRUSTING, headers, "10.0.0.1").is_loopback
    assert not forwarded_request("127.0.0.9, 10.0.0.1").is_loopback


def test_headers_that_name_different_clients_are_ignored() -> None:
    same = {"X-Forwarded-For": "203.0.113.9", "Forwarded": 'for="203.0.113.9:80"'}
    assert request(TRUSTING, same, PROXY).client == "203.0.113.9"
    for other in ("for=127.0.0.9", "for=unknown", "for=10.0.0.1", "nonsense"):
        made = request(TRUSTING, same | {"Forwarded": other}, PROXY)
        assert (made.client, made.is_client_known) == (PROXY, False)


@pytest.mark.parametrize(
    ("headers", "is_secure"),
    [
        ({"Forwarded": "for=203.0.113.9;proto=https"}, True),
        ({"Forwarded": "for=203.0.113.9;proto=HTTPS, for=10.0.0.1;proto=http"}, True),
        ({"Forwarded": "for=203.0.113.9;proto=http, for=10.0.0.1;proto=https"}, False),
        ({"Forwarded": "for=192.0.2.1;proto=https, for=203.0.113.9"}, False),
        ({"Forwarded": "for=_hidden;proto=https"}, True),
        ({"Forwarded": "for=203.0.113.9;proto=https", "X-Forwarded-Proto": "http"}, False),
        ({"Forwarded": "for=203.0.113.9;proto=http", "X-Forwarded-Proto": "https"}, False),
        ({"Forwarded": "for=203.0.113.9", "X-Forwarded-Proto": "https"}, True),
        ({"Forwarded": "for=", "X-Forwarded-Proto": "https"}, False),
    ],
)
def test_the_protocol_is_that_of_the_client(headers: dict[str, str], is_secure: bool) -> None:
    assert request(TRUSTING, headers, PROXY).is_secure == is_secure


FROM_PROXIES = [{"X-Forwarded-For": "203.0.113.9"}, {"Forwarded": "for=203.0.113.9"}, {"X-Forwarded-Proto": "https"}]


@pytest.mark.parametrize("headers", FROM_PROXIES)
def test_credentials_through_a_proxy_that_is_not_trusted_name_the_setting(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    with authenticator_on("sqlite", tmp_path) as fixture:
        shown = headers | {"Authorization": f"Bearer {fixture.office.key}"}
        with pytest.raises(InsecureCredentials) as local:
            fixture.authenticate(shown, client=PROXY)
        assert 'trusted_proxies = ["127.0.0.1"]' in str(local.value)
        with pytest.raises(InsecureCredentials) as far:
            fixture.authenticate(shown, client="10.3.2.1")
        assert "add the address of the proxy" in str(far.value)
        assert "trusted_proxies" in str(far.value)
        assert "10.3.2.1" not in str(far.value)  # the client may not know the network of the server


def test_credentials_through_a_trusted_proxy_that_reports_no_https_name_the_header(tmp_path: Path) -> None:
    with authenticator_on("sqlite", tmp_path) as fixture:
        fixture.with_options(trusted_proxies=(PROXY,))
        shown = {"X-Forwarded-For": "203.0.113.9", "Authorization": f"Bearer {fixture.office.key}"}
        with pytest.raises(InsecureCredentials, match="let it set X-Forwarded-Proto"):
            fixture.authenticate(shown, client=PROXY)
        assert fixture.authenticate(shown | {"X-Forwarded-Proto": "https"}, client=PROXY) is not None


def test_credentials_without_a_proxy_do_not_mention_one(tmp_path: Path) -> None:
    with authenticator_on("sqlite", tmp_path) as fixture:
        shown = {"Authorization": f"Bearer {fixture.office.key}"}
        with pytest.raises(InsecureCredentials, match="use https, or set plain_credentials"):
            fixture.authenticate(shown, client="203.0.113.9")
