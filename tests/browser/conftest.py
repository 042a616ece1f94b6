"""Debian's Chromium, driven by Playwright, and a web site to which identifiers lead."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.system_packages import chromium, require_package

_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser with an empty profile. It does not connect to its manufacturer."""
    require_package("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(_OPTIONS))
        yield browser
        browser.close()


class _EchoPage(BaseHTTPRequestHandler):
    """A page that shows its own path."""

    def do_GET(self) -> None:
        body = f"<!doctype html><title>A page</title><h1>{self.path}</h1>".encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def web_site() -> Iterator[str]:
    """Serve a web site with a page at every path, and give its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EchoPage) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()
        thread.join()
