"""Starting, monitoring and stopping a server, as an operator does."""

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
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, connection, request
from tests.http.sample_registry import PREFIX, fill_registry

TARGET = "https://example.org/abc"
HOME = f"/{PREFIX}/abc"
PATIENCE = 60.0


def start(folder: Path, *options: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
    location = ("--registry", str(folder)) if cwd is None else ()
    return subprocess.Popen(
        [sys.executable, "-m", "perdure", "serve", *location, "--port", "0", *options],
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


def stop(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    process.terminate()
    output, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, output, errors


@contextmanager
def serve_registry(folder: Path, *options: str, settings: str = "") -> Iterator[LiveServer]:
    fill_registry(folder, {"abc": TARGET})
    with run_server(folder, *options, settings=settings) as server:
        yield server


# Start


def test_the_first_start_in_an_empty_folder_creates_a_registry_and_prints_the_next_steps(tmp_path: Path) -> None:
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
    status, _, errors = stop(process)
    assert status == 0
    assert key not in errors


def test_the_printed_commands_work_as_printed_in_any_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for _ in ("the first start", "a later start"):
        process = start(tmp_path / "a registry")
        printed = printed_until(process, "/docs")
        try:
            minted, redirect, record = run_printed(printed, elsewhere)
        finally:
            stop(process)
        assert json.loads(minted)["identifiers"][0]["name"]
        assert "location: https://example.org/" in redirect
        assert json.loads(record)["responseCode"] == 1


def run_printed(printed: str, folder: Path) -> list[str]:
    """Run the printed commands in one shell, and return the output of each curl."""
    block = printed.partition("Commands to try")[2].partition("\n")[2].partition("API documentation")[0]
    script = re.sub(r"^  curl ", "  printf '\\\\f'; curl -s ", block, flags=re.MULTILINE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
    done = subprocess.run(
        ["sh", "-ec", script], capture_output=True, text=True, cwd=folder, env=environment, check=True
    )
    return done.stdout.split("\f")[1:]


def test_a_later_start_does_not_show_the_key_again(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    first = start(folder)
    printed_until(first, "/docs")
    stop(first)
    second = start(folder)
    greeting = printed_until(second, "/docs")
    _, output, errors = stop(second)
    assert (folder / "admin.key").read_text().strip() not in greeting + output + errors
    assert "admin key" not in greeting


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    process = start(tmp_path, cwd=tmp_path)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "not empty" in errors
    assert output == ""
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_the_json_announcement_has_the_key_only_when_it_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    announced = []
    for _ in range(2):
        process = start(folder, "--announce", "json")
        assert process.stdout is not None
        line = process.stdout.readline()
        status, rest, _ = stop(process)
        assert (status, rest) == (0, "")
        announced.append(json.loads(line))
    assert set(announced[0]) == {"url", "admin_key"}
    assert announced[0]["admin_key"] == (folder / "admin.key").read_text().strip()
    assert set(announced[1]) == {"url"}


def test_a_server_answers_once_it_is_announced(tmp_path: Path) -> None:
    with serve_registry(tmp_path / "registry") as server:
        assert httpx.get(f"{server.url}/readyz").json()["status"] == "ready"
        assert httpx.get(f"{server.url}{HOME}").headers["location"] == TARGET


def test_a_dual_stack_socket_recognises_this_machine_by_its_ipv4_address(tmp_path: Path) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6 addresses")
    settings = 'trusted_proxies = ["127.0.0.2"]'
    with serve_registry(tmp_path / "r", "--host", "::", settings=settings) as server:
        here = f"http://127.0.0.1:{server.address[1]}"
        with httpx.Client(base_url=here, headers={"Authorization": f"Bearer {server.key}"}) as client:
            assert client.get("/api/v1/agents/me").status_code == 200, "credentials are accepted"
            assert client.get("/api/site").json()["site"]["servers"][0]["address"] == "127.0.0.1"
        with httpx.Client(base_url=here, transport=httpx.HTTPTransport(local_address="127.0.0.2")) as proxy:
            forwarded = proxy.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
            assert forwarded.status_code == 403, "the proxy is trusted"
        server.stop()
        logged = [json.loads(line) for line in (server.folder / "server.log").read_text().splitlines()]
    assert {line["client"] for line in logged if "client" in line} == {"127.0.0.1", "203.0.113.9"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_that_is_in_use_is_reported(tmp_path: Path, workers: str) -> None:
    fill_registry(tmp_path / "registry", {})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start(tmp_path / "registry", "--port", port, "--workers", workers)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert port in errors
    assert "--port" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--announce", "xml"), "announce"),
        (("--tls-key", "key.pem"), "--tls-cert"),
        (("--tls-cert", "nowhere.pem"), "certificate"),
        (("--host", "300.300.300.300"), "300.300.300.300"),
    ],
)
def test_invalid_options_are_reported(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    fill_registry(tmp_path / "registry", {})
    process = start(tmp_path / "registry", *options)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert named in errors
    assert "Traceback" not in errors
    assert output == ""


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    fill_registry(folder, {})
    file = folder / "perdure.toml"
    file.write_text(file.read_text().replace("[http]", '[http]\ntrusted_proxies = ["not-an-address"]', 1))
    process = start(folder)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "not-an-address" in errors
    assert "Traceback" not in errors


# TLS


def test_a_server_with_its_own_certificate_answers_https(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with serve_registry(tmp_path / "registry", *options) as server:
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(certificate))
        with connection(server, context=context) as client:
            assert client.request(HOME).header("location") == TARGET
            assert client.request(HOME, THROUGH_APPLICATION).header("location") == TARGET
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
def test_browsers_get_the_hsts_header_if_the_settings_require_it(tmp_path: Path, is_tls: bool, seconds: int) -> None:
    """Every response has it, those of the fast path too. Over plain HTTP the header has no effect."""
    certificate, key = self_signed(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key)) if is_tls else ()
    settings = f"hsts_seconds = {seconds}"
    with serve_registry(tmp_path / "registry", *options, settings=settings) as server, server.client("") as client:
        answers = [client.get(path) for path in (HOME, f"{HOME}?info", "/healthz", "/nothing", "/api/v1/openapi.json")]
    expected = f"max-age={seconds}" if is_tls and seconds else None
    assert [answer.headers.get("strict-transport-security") for answer in answers] == [expected] * len(answers)


@pytest.mark.parametrize(
    ("host", "settings", "is_warned"),
    [
        ("0.0.0.0", "", True),  # noqa: S104  (the subject of the warning)
        ("0.0.0.0", 'public_url = "https://id.example.org"', False),  # noqa: S104  (the subject of the warning)
        ("127.0.0.1", "", False),
        ("localhost", "", False),
    ],
)
def test_serving_other_machines_without_a_public_url_logs_a_warning(
    tmp_path: Path, host: str, settings: str, is_warned: bool
) -> None:
    with serve_registry(tmp_path / "registry", "--host", host, settings=settings) as server:
        log = (server.folder / "server.log").read_text()
    assert ("public_url" in log) is is_warned, log


def test_pipelined_requests_over_tls_are_answered(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with serve_registry(tmp_path / "registry", *options) as server:
        locations = asyncio.run(read_pipelined_locations(server, context, 5_000))
    assert locations == {TARGET}


async def read_pipelined_locations(server: LiveServer, context: ssl.SSLContext, count: int) -> set[str]:
    """Send and read in one thread: in Python, two threads that share a TLS connection sometimes disturb each other."""
    reader, writer = await asyncio.open_connection(*server.address, ssl=context, server_hostname="localhost")
    writer.write(request(HOME, THROUGH_APPLICATION) * count)
    locations = set()
    for _ in range(count):
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode("latin-1")
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        await asyncio.wait_for(reader.readexactly(int(headers["content-length"])), 20)
        locations.add(headers["location"])
    writer.close()
    await writer.wait_closed()  # or the transport outlives the loop, and a later test fails
    return locations


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


# Stop


def test_a_request_that_has_begun_is_answered_before_the_server_stops(tmp_path: Path) -> None:
    """The server receives the signal before the whole body."""
    with serve_registry(tmp_path / "registry") as server:
        values = [{"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/late"}}]
        body = json.dumps({"values": values}).encode()
        head = (
            f"PUT /api/handles/{PREFIX}/late HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        with connection(server) as client:
            client.send(head.encode() + body[:10])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            client.send(body[10:])
            answer = client.read()
            assert answer is not None
            assert answer.status == 201
        assert server.process.wait(PATIENCE) == 0
    with run_server(tmp_path / "registry") as again, connection(again) as client:
        assert client.request(f"/{PREFIX}/late").header("location") == "https://example.org/late"


def test_acknowledged_writes_are_stored_when_the_server_has_stopped(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with serve_registry(tmp_path / "registry", "--workers", "2") as server:

        def write(writer: int) -> None:
            with server.client() as client:
                for number in range(100_000):
                    suffix = f"w{writer}-{number}"
                    try:
                        put = client.put(f"/api/handles/{PREFIX}/{suffix}", json=_values(suffix))
                    except httpx.HTTPError:
                        return
                    if put.status_code == 201:
                        acknowledged.append(suffix)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 100 and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        status = server.stop()
        for thread in threads:
            thread.join()
        assert status == 0
    assert len(acknowledged) >= 100
    with run_server(tmp_path / "registry") as again, connection(again) as reader:
        for suffix in acknowledged:
            assert reader.request(f"/{PREFIX}/{suffix}").header("location") == f"https://example.org/{suffix}"


def _values(suffix: str) -> dict[str, object]:
    return {
        "values": [{"index": 1, "type": "URL", "data": {"format": "string", "value": f"https://example.org/{suffix}"}}]
    }


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_in_order(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    with serve_registry(tmp_path / "registry", "--workers", workers) as server:
        with connection(server) as idle:
            assert idle.request(HOME).status == 302
            server.process.send_signal(number)
            assert server.process.wait(PATIENCE) == 0
        with pytest.raises(ConnectionRefusedError), connection(server):
            pass
        assert "Traceback" not in (server.folder / "server.log").read_text()


def test_a_client_that_never_finishes_does_not_prevent_the_stop(tmp_path: Path) -> None:
    settings = "shutdown_seconds = 1.0\nheader_seconds = 60.0"
    with (
        serve_registry(tmp_path / "registry", settings=settings) as server,
        connection(server) as half,
        connection(server) as stuck,
    ):
        half.send(b"GET / HT")
        stuck.send(b"POST /api/v1/identifiers HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{")
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0


# Health and metrics


def test_health_readiness_and_metrics_are_answered(tmp_path: Path) -> None:
    with serve_registry(tmp_path / "registry") as server, server.client("") as client:
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
    count = 40
    with serve_registry(tmp_path / "registry", "--workers", str(workers)) as server:
        for number in range(count):
            with connection(server) as client:  # any worker may accept it
                assert client.request(HOME, *([THROUGH_APPLICATION] if number % 2 else [])).status == 302
        until = time.monotonic() + 10
        while (total := counted_redirects(server)) != count and time.monotonic() < until:
            time.sleep(0.1)  # the fast path reports its counts every second
        text = httpx.get(f"{server.url}/metrics").text
    assert total == count
    timed = r'^perdure_http_request_seconds_(?:count|bucket){interface="resolver"(?:,le="\+Inf")?} (\S+)'
    assert [float(number) for number in re.findall(timed, text, re.MULTILINE)] == [count / 2, count / 2]


def counted_redirects(server: LiveServer) -> int:
    text = httpx.get(f"{server.url}/metrics").text
    fast = re.findall(r'^perdure_fast_path_requests_total\{answer="redirect"\} (\S+)', text, re.MULTILINE)
    slow = re.findall(
        r'^perdure_http_requests_total\{interface="resolver",method="GET",status="302"\} (\S+)', text, re.MULTILINE
    )
    return int(sum(float(number) for number in fast + slow))


def test_metrics_contain_no_names_and_no_keys(tmp_path: Path) -> None:
    with serve_registry(tmp_path / "registry") as server, server.client() as client:
        client.get(f"{HOME}?secret=hunter2")
        client.get("/nothing/of-the-kind")
        client.request("BREW", "/coffee")
        text = client.get("/metrics").text
    for word in (PREFIX, "hunter2", "of-the-kind", server.key, "BREW"):
        assert word not in text


METRICS_BEHIND_PROXY = 'trusted_proxies = ["127.0.0.1"]'


def test_metrics_are_for_this_machine_only(tmp_path: Path) -> None:
    """Behind a proxy, the address of the client decides. An unknown address is not this machine."""
    with serve_registry(tmp_path / "registry", settings=METRICS_BEHIND_PROXY) as server, server.client() as client:
        for path in ("/metrics", "/metrics/"):
            for address in ("203.0.113.9", "unknown", "127.0.0.1, 203.0.113.9"):
                for method in ("GET", "HEAD"):
                    refused = client.request(method, path, headers={"X-Forwarded-For": address})
                    assert refused.status_code == 403, (path, address)
                    assert "perdure_http" not in refused.text
                assert client.get("/healthz", headers={"X-Forwarded-For": address}).status_code == 200
        assert refused.headers["content-type"] == "application/problem+json"
        assert client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.9"}).status_code == 200
        for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=unknown"}):
            assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == 403, headers


def test_metrics_are_for_the_clients_in_the_settings(tmp_path: Path) -> None:
    settings = METRICS_BEHIND_PROXY + '\nmetrics_clients = ["203.0.113.0/24", "2001:db8::/32"]'
    with serve_registry(tmp_path / "registry", settings=settings) as server, server.client() as client:
        answers = {
            address: client.get("/metrics", headers={"X-Forwarded-For": address}).status_code
            for address in ("203.0.113.9", "2001:db8::9", "203.0.114.1", "127.0.0.1", "unknown")
        }
    assert list(answers.values()) == [200, 200, 403, 403, 403]


def test_pages_of_other_origins_cannot_read_metrics(tmp_path: Path) -> None:
    origin = {"Origin": "https://elsewhere.example"}
    with serve_registry(tmp_path / "registry") as server, server.client("") as client:
        responses = [
            client.get("/metrics", headers=origin),
            client.head("/metrics", headers=origin),
            client.options("/metrics", headers=origin | {"Access-Control-Request-Method": "GET"}),
        ]
        assert "access-control-allow-origin" in client.get("/healthz", headers=origin).headers
    for answer in responses:
        assert not [name for name in answer.headers if name.startswith("access-control-")]


# The access log


def test_the_access_log_contains_the_client_the_user_agent_and_the_agent(tmp_path: Path) -> None:
    """The fast path and the application write equal lines."""
    proxy = 'trusted_proxies = ["127.0.0.1"]'
    long = "a" * 300
    with serve_registry(tmp_path / "registry", settings=proxy) as server:
        with connection(server) as client:
            for more in ((), (THROUGH_APPLICATION,)):
                client.request(HOME, "forwarded: for=203.0.113.9", "user-agent: Reader/1.0", *more)
                client.request(HOME, "x-forwarded-for: 2001:db8::9, 127.0.0.1", f"user-agent: {long}", *more)
                client.request(HOME, "user-agent: \x9b31m\tx", *more)
            secure = ("x-forwarded-for: 203.0.113.9", "x-forwarded-proto: https")
            client.request("/api/v1/agents/me", f"authorization: Bearer {server.key}", *secure)
            client.request("/api/v1/agents/me", f"authorization: Bearer {server.key[:-4]}0000", *secure)
            me = json.loads(client.request("/api/v1/agents/me", f"authorization: Bearer {server.key}", *secure).body)[
                "id"
            ]
        assert server.stop() == 0
        log = (server.folder / "server.log").read_text()
    assert server.key not in log
    lines = [json.loads(line) for line in log.splitlines()]
    logged = [(line["client"], line["agent"], line["user_agent"]) for line in lines if "client" in line]
    reading = [("203.0.113.9", None, "Reader/1.0"), ("2001:db8::9", None, long[:256])]
    assert logged[:2] == logged[3:5] == reading
    assert logged[2] == logged[5]
    assert logged[2][:2] == (None, None)
    assert logged[2][2].isascii()
    assert [agent for _, agent, _ in logged[6:]] == [me, None, me]


def test_the_access_log_is_json_without_queries_and_credentials(tmp_path: Path) -> None:
    with serve_registry(tmp_path / "registry") as server:
        with connection(server) as client:
            client.request(
                f"{HOME}?noredirect=&password=hunter2", f"authorization: Bearer {server.key}", "cookie: a=hunter3"
            )
            client.request(HOME)
            client.request("/nothing%0aelse", "referer: hunter4")
        assert server.stop() == 0
        log = (server.folder / "server.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    requests = [(line["method"], line["path"], line["status"]) for line in lines]
    assert ("GET", HOME, 302) in requests
    assert ("GET", HOME, 200) in requests
    assert any(path == "/nothing%0aelse" for _, path, _ in requests)
    assert all(line["client"] == "127.0.0.1" and line["seconds"] >= 0 for line in lines)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"]) for line in lines)
    times = [datetime.datetime.fromisoformat(line["at"]) for line in lines]
    assert times == sorted(times)
    assert datetime.datetime.now(datetime.UTC) - times[0] < datetime.timedelta(minutes=1)
    for word in ("hunter", server.key, "noredirect"):
        assert word not in log


@pytest.mark.parametrize("way", ["an option", "a setting"])
def test_without_an_access_log_nothing_is_written(tmp_path: Path, way: str) -> None:
    options, settings = (("--no-access-log",), "") if way == "an option" else ((), "access_log = false")
    with serve_registry(tmp_path / "registry", *options, settings=settings) as server:
        with connection(server) as client:
            assert client.request(HOME).status == 302
            client.request("/nothing")
        assert server.stop() == 0
        assert (server.folder / "server.log").read_text() == ""


def test_refused_requests_do_not_write_their_content_to_the_log(tmp_path: Path) -> None:
    with serve_registry(tmp_path / "registry", "--no-access-log") as server:
        for _ in range(20):
            with connection(server) as client:
                client.send(b"hunter2 hunter2\r\n\r\n")
                client.read()
        assert server.stop() == 0
        assert "hunter2" not in (server.folder / "server.log").read_text()


@pytest.mark.parametrize("wrong", [["--tls-cert", "missing.pem"], ["--host", "300.1.1.1"]], ids=["certificate", "host"])
def test_a_first_start_that_fails_creates_no_registry_with_an_unseen_key(tmp_path: Path, wrong: list[str]) -> None:
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
