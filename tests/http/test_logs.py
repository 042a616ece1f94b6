"""What goes wrong inside is logged, and nothing that was secret with it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.http.furnished import HOME, furnished
from tests.http.raw_client import THROUGH_APPLICATION, connection

SCRIPT = """
import structlog
from perdure.http import logs

logs.configure()

def fail(token):
    raise RuntimeError("broken")

try:
    fail("perdure_secret")
except RuntimeError:
    structlog.get_logger("perdure.http").exception("a request failed", door="v1")
"""


def test_a_failure_is_one_line_on_the_standard_error_without_the_values_of_variables() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    said = json.loads(line)
    assert said["event"] == "a request failed"
    assert "RuntimeError: broken" in said["exception"]
    assert "perdure_secret" not in line.replace('fail("perdure_secret")', "").replace('fail(\\"perdure_secret\\")', "")


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
