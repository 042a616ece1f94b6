"""wrk with its scripts: random names, one thread, persistent connections. And results that other programs measure."""

import json
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

# The end of all scripts: it writes the figures as one line of JSON. wrk counts every status above 399 as an error.
_REPORT_SCRIPT: Final = """
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nRESULT {"requests": %d, "microseconds": %d, "p50": %.0f, "p99": %.0f, "refused": %d, "broken": %d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), e.status,
    e.connect + e.read + e.write + e.timeout))
end
"""

# Arguments: a seed, the file of names, the part of a request before the name, and the part after it. The names are one
# string with an array of positions. Lua's garbage collector would walk over a million strings again and again, for tens of
# milliseconds in which wrk sends nothing, and that time would count for the measured server.
_READ_SCRIPT: Final = (
    """
local ffi = require("ffi")
local draw = math.random
local text, starts, count, before, after
function init(args)
  math.randomseed(tonumber(args[1]))
  local file = io.open(args[2], "rb")
  text = file:read("*a")
  file:close()
  if text:sub(-1) ~= "\\n" then text = text .. "\\n" end
  count = select(2, text:gsub("\\n", ""))
  starts = ffi.new("uint32_t[?]", count + 1)
  local at = 1
  for number = 0, count - 1 do
    starts[number] = at
    at = text:find("\\n", at, true) + 1
  end
  starts[count] = at
  before, after = args[3], args[4]:gsub("\\\\r\\\\n", "\\r\\n")
end
function request()
  local number = draw(count) - 1
  return before .. text:sub(starts[number], starts[number + 1] - 2) .. after
end
"""
    + _REPORT_SCRIPT
)

# Arguments: a seed, the method, the path, the key, and the body. @ stands for a suffix in the path and in the body.
_CREATE_SCRIPT: Final = (
    """
local method, path, key, body
local draw, number = math.random, 0
function init(args)
  math.randomseed(tonumber(args[1]))
  method, path, key, body = args[2], args[3], args[4], args[5]
end
function request()
  number = number + 1
  local suffix = string.format("%04x%04x-%04x-4%03x-%04x-%04x%04x%04x", draw(0, 65535), draw(0, 65535), draw(0, 65535),
    draw(0, 4095), draw(32768, 49151), draw(0, 65535), draw(0, 65535), draw(0, 65535))
  local content = body:gsub("@", suffix)
  return method .. " " .. path:gsub("@", suffix) .. " HTTP/1.1\\r\\nhost: id.example.org\\r\\nauthorization: Bearer " .. key
    .. "\\r\\ncontent-type: application/json\\r\\ncontent-length: " .. #content .. "\\r\\n\\r\\n" .. content
end
"""
    + _REPORT_SCRIPT
)


class WrkResult(NamedTuple):
    """The result of one round: rate per second, latencies in microseconds, and failures."""

    rate: float
    p50: float
    p99: float
    requests: int
    refused: int
    broken: int

    @property
    def is_valid(self) -> bool:
        return self.requests > 0 and self.refused == 0 and self.broken == 0


def result_of(times: Sequence[float], units: int = 1, refused: int = 0) -> WrkResult:
    """Return the result of calls, one after the other, from their seconds. The rate counts the units of each call."""
    p99 = statistics.quantiles([*times, times[-1]], n=100)[98]
    count = len(times) * units
    return WrkResult(count / sum(times), statistics.median(times) * 1e6, p99 * 1e6, count, refused, 0)


class Wrk:
    """Runs wrk with scripts that it writes to a folder."""

    def __init__(self, folder: Path, names: Path, seconds: float) -> None:
        self._names = names
        self._seconds = max(1, round(seconds))
        self._seed = 0
        self._scripts = {"ask": folder / "ask.lua", "create": folder / "create.lua"}
        self._scripts["ask"].write_text(_READ_SCRIPT)
        self._scripts["create"].write_text(_CREATE_SCRIPT)

    def run_reads(self, url: str, connections: int, names: Path | None = None, *headers: str) -> WrkResult:
        """Send GET requests to a URL with {name}, with these headers."""
        parts = urlsplit(url)
        before, _, after = (parts.path + (f"?{parts.query}" if parts.query else "")).partition("{name}")
        lines = "".join(f"{header}\\r\\n" for header in ("host: id.example.org", *headers))
        head = f"{after} HTTP/1.1\\r\\n{lines}\\r\\n"
        arguments = [str(names or self._names), f"GET {before}", head]
        return self._run("ask", f"{parts.scheme}://{parts.netloc}/", connections, arguments)

    def run_creates(
        self, url: str, connections: int, method: str, path: str, key: str, body: dict[str, Any]
    ) -> WrkResult:
        """Send requests that create a name each. @ stands for the suffix in the path and in the body."""
        return self._run("create", url, connections, [method, path, key, json.dumps(body)])

    def _run(self, script: str, url: str, connections: int, arguments: list[str]) -> WrkResult:
        self._seed += 1
        command = ["wrk", "-t1", f"-c{connections}", f"-d{self._seconds}s", "-s", str(self._scripts[script]), url]
        done = subprocess.run(
            [*command, "--", str(self._seed), *arguments], capture_output=True, text=True, check=False
        )
        line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
        if line is None:
            raise SystemExit(f"wrk did not work: {done.stdout}{done.stderr}")
        figures = json.loads(line.removeprefix("RESULT "))
        rate = figures["requests"] / figures["microseconds"] * 1e6
        return WrkResult(
            rate, figures["p50"], figures["p99"], figures["requests"], figures["refused"], figures["broken"]
        )
