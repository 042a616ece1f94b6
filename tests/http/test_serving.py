"""Starting, watching and ending a server, as those who look after one do it."""

import asyncio
import datetime
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.http.furnished import PREFIX, furnish
from tests.http.live import LiveServer, serving
from tests.http.raw_client import THROUGH_APPLICATION, connection, request

TARGET = "https://example.org/abc"
HOME = f"/{PREFIX}/abc"
PATIENCE = 60.0


def start(folder: Path, *options: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
    where = ("--registry", str(folder)) if cwd is None else ()
    return subprocess.Popen(
        [sys.executable, "-m", "perdure", "serve", *where, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name != "PERDURE_REGISTRY"}
        | {"PYTHONUNBUFFERED": "1"},
    )


def printed_until(process: "subprocess.Popen[str]", last: str) -> str:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if last in line:
            break
    return "".join(lines)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    process.terminate()
    said, complained = process.communicate(timeout=PATIENCE)
    return process.returncode, said, complained


@contextmanager
def furnished(folder: Path, *options: str, settings: str = "") -> Iterator[LiveServer]:
    furnish(folder, {"abc": TARGET})
    with serving(folder, *options, settings=settings) as server:
        yield server


# The beginning


def test_the_first_start_in_an_empty_folder_makes_a_registry_and_says_how_to_go_on(tmp_path: Path) -> None:
    here = tmp_path / "empty"
    here.mkdir()
    process = start(here, cwd=here)
    greeting = printed_until(process, "/docs")
    url = re.search(r"http://127\.0\.0\.1:\d+", greeting)
    assert url
    key = (here / "admin.key").read_text().strip()
    assert f"admin key   {key}" in greeting
    commands = re.findall(r"^  curl ", greeting, re.MULTILINE)
    assert len(commands) == 3
    assert httpx.get(f"{url[0]}/readyz").status_code == 200
    status, _, complained = ended(process)
    assert status == 0
    assert key not in complained


def test_the_commands_of_the_greeting_work(tmp_path: Path) -> None:
    process = start(tmp_path / "registry")
    greeting = printed_until(process, "/docs")
    first, second, third = re.split(r"^  (?=curl )", greeting, flags=re.MULTILINE)[1:]
    try:
        name = json.loads(shell(first))["identifiers"][0]["name"]
        assert "https://example.org/" in shell(second.replace("NAME", name))
        assert json.loads(shell(third.replace("NAME", name)))["handle"] == name
    finally:
        ended(process)


def shell(command: str) -> str:
    """A command of the greeting: without what follows it on other lines, and quietly."""
    lines = command.replace("\\\n", " ").splitlines()
    done = subprocess.run(
        ["sh", "-c", f"{lines[0].replace('curl', 'curl -s', 1)}"], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_later_start_does_not_show_the_key_again(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    first = start(folder)
    printed_until(first, "/docs")
    ended(first)
    second = start(folder)
    greeting = printed_until(second, "/docs")
    _, said, complained = ended(second)
    assert (folder / "admin.key").read_text().strip() not in greeting + said + complained
    assert "admin key" not in greeting


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    process = start(tmp_path, cwd=tmp_path)
    said, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "not empty" in complained
    assert said == ""
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_an_announcement_for_scripts_has_the_key_only_when_it_was_just_made(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    told = []
    for _ in range(2):
        process = start(folder, "--announce", "json")
        assert process.stdout is not None
        line = process.stdout.readline()
        status, rest, _ = ended(process)
        assert (status, rest) == (0, "")
        told.append(json.loads(line))
    assert set(told[0]) == {"url", "admin_key"}
    assert told[0]["admin_key"] == (folder / "admin.key").read_text().strip()
    assert set(told[1]) == {"url"}


def test_when_it_is_announced_it_answers(tmp_path: Path) -> None:
    with furnished(tmp_path / "registry") as server:
        assert httpx.get(f"{server.url}/readyz").json()["status"] == "ready"
        assert httpx.get(f"{server.url}{HOME}").headers["location"] == TARGET


def test_a_socket_for_both_versions_knows_this_machine_by_its_address_of_version_4(tmp_path: Path) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no addresses of version 6")
    settings = 'trusted_proxies = ["127.0.0.2"]'
    with furnished(tmp_path / "r", "--host", "::", settings=settings) as server:
        here = f"http://127.0.0.1:{server.address[1]}"
        with httpx.Client(base_url=here, headers={"Authorization": f"Bearer {server.key}"}) as client:
            assert client.get("/api/v1/agents/me").status_code == 200, "credentials count"
            assert client.get("/api/site").json()["site"]["servers"][0]["address"] == "127.0.0.1"
        with httpx.Client(base_url=here, transport=httpx.HTTPTransport(local_address="127.0.0.2")) as proxy:
            forwarded = proxy.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
            assert forwarded.status_code == 403, "the proxy is believed"
        server.stop()
        logged = [json.loads(line) for line in (server.folder / "server.log").read_text().splitlines()]
    assert {line["client"] for line in logged if "client" in line} == {"127.0.0.1", "203.0.113.9"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_that_is_taken_is_said_so(tmp_path: Path, workers: str) -> None:
    furnish(tmp_path / "registry", {})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start(tmp_path / "registry", "--port", port, "--workers", workers)
        _, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert port in complained
    assert "--port" in complained
    assert "Traceback" not in complained


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--announce", "xml"), "announce"),
        (("--tls-key", "key.pem"), "--tls-cert"),
        (("--tls-cert", "nowhere.pem"), "certificate"),
        (("--host", "300.300.300.300"), "300.300.300.300"),
    ],
)
def test_options_that_cannot_be_met_are_said_so(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    furnish(tmp_path / "registry", {})
    process = start(tmp_path / "registry", *options)
    said, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert named in complained
    assert "Traceback" not in complained
    assert said == ""


def test_settings_that_make_no_sense_are_said_so(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    furnish(folder, {})
    file = folder / "perdure.toml"
    file.write_text(file.read_text().replace("[http]", '[http]\ntrusted_proxies = ["everybody"]', 1))
    process = start(folder)
    _, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "everybody" in complained
    assert "Traceback" not in complained


# TLS


def test_https_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with furnished(tmp_path / "registry", *options) as server:
        assert server.url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate))
        with connection(server, context=trusting) as one:
            assert one.ask(HOME).header("location") == TARGET
            assert one.ask(HOME, THROUGH_APPLICATION).header("location") == TARGET
        with connection(server) as plain:
            plain.send(request(HOME))
            answer = plain.read()
            assert answer is None or answer.status >= 400
        old = ssl.create_default_context(cafile=str(certificate))
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionResetError)), connection(server, context=old):
            pass


@pytest.mark.parametrize(("is_tls", "seconds"), [(True, 31_536_000), (True, 0), (False, 31_536_000)])
def test_browsers_are_told_to_stay_with_https_if_the_settings_say_so(
    tmp_path: Path, is_tls: bool, seconds: int
) -> None:
    """On every answer, of the express lane too; over plain HTTP the header would mean nothing."""
    certificate, key = self_signed(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key)) if is_tls else ()
    settings = f"hsts_seconds = {seconds}"
    with furnished(tmp_path / "registry", *options, settings=settings) as server, server.client("") as client:
        answers = [client.get(path) for path in (HOME, f"{HOME}?info", "/healthz", "/nothing", "/api/v1/openapi.json")]
    expected = f"max-age={seconds}" if is_tls and seconds else None
    assert [answer.headers.get("strict-transport-security") for answer in answers] == [expected] * len(answers)


@pytest.mark.parametrize(
    ("host", "settings", "is_warned"),
    [
        ("0.0.0.0", "", True),  # noqa: S104  (it is what the warning is about)
        ("0.0.0.0", 'public_url = "https://id.example.org"', False),  # noqa: S104  (it is what the warning is about)
        ("127.0.0.1", "", False),
        ("localhost", "", False),
    ],
)
def test_serving_beyond_this_machine_without_an_address_of_its_own_is_warned_of(
    tmp_path: Path, host: str, settings: str, is_warned: bool
) -> None:
    with furnished(tmp_path / "registry", "--host", host, settings=settings) as server:
        log = (server.folder / "server.log").read_text()
    assert ("public_url" in log) is is_warned, log


def test_pipelined_requests_over_tls(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with furnished(tmp_path / "registry", *options) as server:
        told = asyncio.run(locations_in_one_go(server, trusting, 5_000))
    assert told == {TARGET}


async def locations_in_one_go(server: LiveServer, trusting: ssl.SSLContext, count: int) -> set[str]:
    """Sent and read by one thread: two that share a TLS connection of Python disturb each other now and then."""
    reader, writer = await asyncio.open_connection(*server.address, ssl=trusting, server_hostname="localhost")
    writer.write(request(HOME, THROUGH_APPLICATION) * count)
    found = set()
    for _ in range(count):
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode("latin-1")
        said = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        await asyncio.wait_for(reader.readexactly(int(said["content-length"])), 20)
        found.add(said["location"])
    writer.close()
    await writer.wait_closed()  # or the transport outlives the loop, and a later test is blamed for it
    return found


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


# The end


def test_a_request_that_has_begun_is_answered_before_the_end(tmp_path: Path) -> None:
    """Its body is still on its way when the server is told to stop."""
    with furnished(tmp_path / "registry") as server:
        values = [{"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/late"}}]
        body = json.dumps({"values": values}).encode()
        head = (
            f"PUT /api/handles/{PREFIX}/late HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        with connection(server) as one:
            one.send(head.encode() + body[:10])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            one.send(body[10:])
            answer = one.read()
            assert answer is not None
            assert answer.status == 201
        assert server.process.wait(PATIENCE) == 0
    with serving(tmp_path / "registry") as again, connection(again) as one:
        assert one.ask(f"/{PREFIX}/late").header("location") == "https://example.org/late"


def test_what_was_acknowledged_is_there_after_the_end(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with furnished(tmp_path / "registry", "--workers", "2") as server:

        def write(who: int) -> None:
            with server.client() as client:
                for number in range(100_000):
                    suffix = f"w{who}-{number}"
                    try:
                        put = client.put(f"/api/handles/{PREFIX}/{suffix}", json=_values(suffix))
                    except httpx.HTTPError:
                        return
                    if put.status_code == 201:
                        acknowledged.append(suffix)

        writers = [threading.Thread(target=write, args=(who,)) for who in range(8)]
        for writer in writers:
            writer.start()
        while len(acknowledged) < 100 and any(writer.is_alive() for writer in writers):
            time.sleep(0.01)
        status = server.stop()
        for writer in writers:
            writer.join()
        assert status == 0
    assert len(acknowledged) >= 100
    with serving(tmp_path / "registry") as again, connection(again) as one:
        for suffix in acknowledged:
            assert one.ask(f"/{PREFIX}/{suffix}").header("location") == f"https://example.org/{suffix}"


def _values(suffix: str) -> dict[str, object]:
    return {
        "values": [{"index": 1, "type": "URL", "data": {"format": "string", "value": f"https://example.org/{suffix}"}}]
    }


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_when_it_is_told_to(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    with furnished(tmp_path / "registry", "--workers", workers) as server:
        with connection(server) as idle:
            assert idle.ask(HOME).status == 302
            server.process.send_signal(number)
            assert server.process.wait(PATIENCE) == 0
        with pytest.raises(ConnectionRefusedError), connection(server):
            pass
        assert "Traceback" not in (server.folder / "server.log").read_text()


def test_a_client_that_never_finishes_does_not_stop_the_end(tmp_path: Path) -> None:
    settings = "shutdown_seconds = 1.0\nheader_seconds = 60.0"
    with (
        furnished(tmp_path / "registry", settings=settings) as server,
        connection(server) as half,
        connection(server) as stuck,
    ):
        half.send(b"GET / HT")
        stuck.send(b"POST /api/v1/identifiers HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{")
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0


# What is told to those who watch


def test_health_readiness_and_counts(tmp_path: Path) -> None:
    with furnished(tmp_path / "registry") as server, server.client("") as client:
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready", "writes": True}
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.head(path).status_code == 200
            assert client.post(path).status_code == 405
        counted = client.get("/metrics")
        assert counted.headers["content-type"].startswith("text/plain")
        assert "perdure_http_requests_total" in counted.text
        assert "perdure_store_log_bytes" in counted.text


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_of_all_workers_add_up(tmp_path: Path, workers: int) -> None:
    asked = 40
    with furnished(tmp_path / "registry", "--workers", str(workers)) as server:
        for number in range(asked):
            with connection(server) as one:  # each by whichever worker takes it
                assert one.ask(HOME, *([THROUGH_APPLICATION] if number % 2 else [])).status == 302
        until = time.monotonic() + 10
        while (total := counted_redirects(server)) != asked and time.monotonic() < until:
            time.sleep(0.1)  # the express lane is counted every second
        text = httpx.get(f"{server.url}/metrics").text
    assert total == asked
    timed = r'^perdure_http_request_seconds_(?:count|bucket){door="resolver"(?:,le="\+Inf")?} (\S+)'
    assert [float(number) for number in re.findall(timed, text, re.MULTILINE)] == [asked / 2, asked / 2]


def counted_redirects(server: LiveServer) -> int:
    text = httpx.get(f"{server.url}/metrics").text
    express = re.findall(r'^perdure_express_requests_total\{answer="redirect"\} (\S+)', text, re.MULTILINE)
    slow = re.findall(
        r'^perdure_http_requests_total\{door="resolver",method="GET",status="302"\} (\S+)', text, re.MULTILINE
    )
    return int(sum(float(number) for number in express + slow))


def test_metrics_hold_no_names_and_no_keys(tmp_path: Path) -> None:
    with furnished(tmp_path / "registry") as server, server.client() as client:
        client.get(f"{HOME}?secret=hunter2")
        client.get("/nothing/of-the-kind")
        client.request("BREW", "/coffee")
        text = client.get("/metrics").text
    for word in (PREFIX, "hunter2", "of-the-kind", server.key, "BREW"):
        assert word not in text


METRICS_BEHIND_PROXY = 'trusted_proxies = ["127.0.0.1"]'


def test_metrics_are_for_this_machine_alone(tmp_path: Path) -> None:
    """Behind a proxy the client counts, and one that the proxy cannot name is not this machine."""
    with furnished(tmp_path / "registry", settings=METRICS_BEHIND_PROXY) as server, server.client() as client:
        for path in ("/metrics", "/metrics/"):
            for said in ("203.0.113.9", "unknown", "127.0.0.1, 203.0.113.9"):
                for method in ("GET", "HEAD"):
                    refused = client.request(method, path, headers={"X-Forwarded-For": said})
                    assert refused.status_code == 403, (path, said)
                    assert "perdure_http" not in refused.text
                assert client.get("/healthz", headers={"X-Forwarded-For": said}).status_code == 200
        assert refused.headers["content-type"] == "application/problem+json"
        assert client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.9"}).status_code == 200
        for said in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=unknown"}):
            assert httpx.get(f"{server.url}/metrics", headers=said).status_code == 403, said


def test_metrics_are_for_those_whom_the_settings_name(tmp_path: Path) -> None:
    settings = METRICS_BEHIND_PROXY + '\nmetrics_clients = ["203.0.113.0/24", "2001:db8::/32"]'
    with furnished(tmp_path / "registry", settings=settings) as server, server.client() as client:
        answers = {
            said: client.get("/metrics", headers={"X-Forwarded-For": said}).status_code
            for said in ("203.0.113.9", "2001:db8::9", "203.0.114.1", "127.0.0.1", "unknown")
        }
    assert list(answers.values()) == [200, 200, 403, 403, 403]


def test_pages_of_other_origins_cannot_read_metrics(tmp_path: Path) -> None:
    origin = {"Origin": "https://elsewhere.example"}
    with furnished(tmp_path / "registry") as server, server.client("") as client:
        asked = [
            client.get("/metrics", headers=origin),
            client.head("/metrics", headers=origin),
            client.options("/metrics", headers=origin | {"Access-Control-Request-Method": "GET"}),
        ]
        assert "access-control-allow-origin" in client.get("/healthz", headers=origin).headers
    for answer in asked:
        assert not [name for name in answer.headers if name.startswith("access-control-")]


# The access log


def test_the_access_log_shows_the_client_the_user_agent_and_the_agent(tmp_path: Path) -> None:
    """Both ways to an answer, by the express lane and through the application, write the same."""
    proxy = 'trusted_proxies = ["127.0.0.1"]'
    long = "a" * 300
    with furnished(tmp_path / "registry", settings=proxy) as server:
        with connection(server) as one:
            for more in ((), (THROUGH_APPLICATION,)):
                one.ask(HOME, "forwarded: for=203.0.113.9", "user-agent: Reader/1.0", *more)
                one.ask(HOME, "x-forwarded-for: 2001:db8::9, 127.0.0.1", f"user-agent: {long}", *more)
                one.ask(HOME, "user-agent: \x9b31m\tx", *more)
            secure = ("x-forwarded-for: 203.0.113.9", "x-forwarded-proto: https")
            one.ask("/api/v1/agents/me", f"authorization: Bearer {server.key}", *secure)
            one.ask("/api/v1/agents/me", f"authorization: Bearer {server.key[:-4]}0000", *secure)
            me = json.loads(one.ask("/api/v1/agents/me", f"authorization: Bearer {server.key}", *secure).body)["id"]
        assert server.stop() == 0
        log = (server.folder / "server.log").read_text()
    assert server.key not in log
    lines = [json.loads(line) for line in log.splitlines()]
    shown = [(line["client"], line["agent"], line["user_agent"]) for line in lines if "client" in line]
    reading = [("203.0.113.9", None, "Reader/1.0"), ("2001:db8::9", None, long[:256])]
    assert shown[:2] == shown[3:5] == reading
    assert shown[2] == shown[5]
    assert shown[2][:2] == (None, None)
    assert shown[2][2].isascii()
    assert [agent for _, agent, _ in shown[6:]] == [me, None, me]


def test_the_access_log_is_json_without_queries_and_credentials(tmp_path: Path) -> None:
    with furnished(tmp_path / "registry") as server:
        with connection(server) as one:
            one.ask(f"{HOME}?noredirect=&password=hunter2", f"authorization: Bearer {server.key}", "cookie: a=hunter3")
            one.ask(HOME)
            one.ask("/nothing%0aelse", "referer: hunter4")
        assert server.stop() == 0
        log = (server.folder / "server.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    asked = [(line["method"], line["path"], line["status"]) for line in lines]
    assert ("GET", HOME, 302) in asked
    assert ("GET", HOME, 200) in asked
    assert any(path == "/nothing%0aelse" for _, path, _ in asked)
    assert all(line["client"] == "127.0.0.1" and line["seconds"] >= 0 and line["at"] for line in lines)
    for word in ("hunter", server.key, "noredirect"):
        assert word not in log


@pytest.mark.parametrize("way", ["an option", "a setting"])
def test_without_an_access_log_nothing_is_written(tmp_path: Path, way: str) -> None:
    options, settings = (("--no-access-log",), "") if way == "an option" else ((), "access_log = false")
    with furnished(tmp_path / "registry", *options, settings=settings) as server:
        with connection(server) as one:
            assert one.ask(HOME).status == 302
            one.ask("/nothing")
        assert server.stop() == 0
        assert (server.folder / "server.log").read_text() == ""


def test_refused_requests_do_not_flood_the_log_with_what_they_said(tmp_path: Path) -> None:
    with furnished(tmp_path / "registry", "--no-access-log") as server:
        for _ in range(20):
            with connection(server) as one:
                one.send(b"hunter2 hunter2\r\n\r\n")
                one.read()
        assert server.stop() == 0
        assert "hunter2" not in (server.folder / "server.log").read_text()


@pytest.mark.parametrize("wrong", [["--tls-cert", "missing.pem"], ["--host", "300.1.1.1"]], ids=["certificate", "host"])
def test_a_first_start_that_fails_makes_no_registry_whose_key_nobody_saw(tmp_path: Path, wrong: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perdure", "serve", "--port", "0", *wrong],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "certificate" in done.stderr or "--host" in done.stderr
    assert list(tmp_path.iterdir()) == []
