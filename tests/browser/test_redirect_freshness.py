"""A browser follows a changed identifier to its new target, and sees a withdrawal, at the next visit."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import fill_registry

NAME = "12345/thesis"


@contextmanager
def visited_server(folder: Path, web_site: str, settings: str = "") -> Iterator[LiveServer]:
    with ThreadPoolExecutor(1) as thread:  # the browser's library runs an event loop in this one
        thread.submit(fill_registry, folder, {"thesis": f"{web_site}/old"}, prefix="12345").result()
    with run_server(folder, settings=settings) as server:
        yield server


def visit(page: Page, server: LiveServer) -> tuple[str, str]:
    """Return the path of the page that the identifier leads to, and its heading."""
    page.goto(f"{server.url}/{NAME}")
    return page.url.partition("://")[2].partition("/")[2], page.locator("h1").inner_text()


def answers(server: LiveServer) -> list[int]:
    """Stop the server, and return the statuses of its responses for the identifier."""
    server.stop()
    lines = [json.loads(line) for line in (server.folder / "server.log").read_text().splitlines() if NAME in line]
    return [line["status"] for line in lines]


@pytest.mark.parametrize("form", ["fast path", "application"])
def test_a_change_and_a_withdrawal_are_seen_at_the_next_visit(
    browser: Browser, web_site: str, tmp_path: Path, form: str
) -> None:
    headers = {} if form == "fast path" else {"accept-datetime": "Wed, 18 Nov 2026 10:00:00 GMT"}
    with (
        visited_server(tmp_path / "registry", web_site) as server,
        browser.new_context(extra_http_headers=headers) as context,
    ):
        page = context.new_page()
        assert visit(page, server) == ("old", "/old")
        assert visit(page, server) == ("old", "/old")
        server.perdure("set", NAME, f"{web_site}/new")
        assert visit(page, server) == ("new", "/new")
        server.perdure("withdraw", NAME, "--reason", "a duplicate")
        assert visit(page, server)[0] == NAME, "the tombstone"
        assert answers(server) == [302, 302, 302, 410], "Chromium revalidates no redirects, and asks again in full"


def test_a_browser_does_not_ask_again_while_the_setting_allows_it(
    browser: Browser, web_site: str, tmp_path: Path
) -> None:
    with (
        visited_server(tmp_path / "registry", web_site, "redirect_seconds = 3600") as server,
        browser.new_context() as context,
    ):
        page = context.new_page()
        assert visit(page, server) == visit(page, server) == ("old", "/old")
        assert answers(server) == [302]
