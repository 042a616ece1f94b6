"""Internal errors are logged, without secrets."""

import json
import subprocess
import sys

SCRIPT = """
import structlog
from perdure.http.shared.logging import configure_logging

configure_logging()

def fail(token):
    raise RuntimeError("broken")

try:
    fail("perdure_secret")
except RuntimeError:
    structlog.get_logger("perdure.http").exception("a request failed", interface="v1")
"""


def test_a_failure_is_one_line_on_the_standard_error_without_the_values_of_variables() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert entry["event"] == "a request failed"
    assert "RuntimeError: broken" in entry["exception"]
    assert "perdure_secret" not in line.replace('fail("perdure_secret")', "").replace('fail(\\"perdure_secret\\")', "")
