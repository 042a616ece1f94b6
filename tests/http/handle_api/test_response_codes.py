"""Every error has its response code, and every code its status."""

import asyncio
import json
import sqlite3
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.http.handle_client import request as make_request
from tests.http.handle_server import ADMIN, PREFIX, basic, code, handle_office, handle_path, text

from perdure import errors
from perdure.http.error_boundary import respond
from perdure.http.handle_api.endpoint import allow_methods, format_error
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.handle_api.response_codes import HTTP, code_of, status_of
from perdure.http.shared import http_errors
from perdure.http.shared.metrics import Metrics
from perdure.http.shared.request import Response
from perdure.http.shared.timeouts import DeadlineTimer
from perdure.http_options import HttpOptions

TIMES = ("t", Fraction(2), Fraction(1), Fraction(1))

EXPECTED: list[tuple[errors.PerdureError, int, int]] = [
    (errors.InvalidName("handle", "name", 0, "x"), 102, 400),
    (errors.InvalidInput("record", "values", "x"), 202, 400),
    (errors.OutOfRange("record", "index", "x"), 202, 400),
    (errors.InvalidInput("handle", "name", "x"), 102, 400),
    (errors.InvalidInput("request", "page", "x"), 4, 400),
    (errors.InvalidInput("search", "URL", "x"), 4, 400),
    (errors.OutOfRange("list", "page", "x"), 4, 400),
    (errors.NameTaken("x"), 101, 409),
    (errors.ValueExists("x", 1), 201, 409),
    (errors.NoSuchName("x"), 100, 404),
    (errors.NoSuchPrefix("x"), 301, 400),
    (errors.NoSuchValue("x", (1,)), 200, 400),
    (errors.Withdrawn("x", "why"), 100, 404),
    (errors.WrongState("x", "reserved", "active"), 100, 404),
    (errors.Immutable("x", "why"), 401, 403),
    (errors.NotAuthorised("a", "edit", "x"), 400, 403),
    (errors.BadKey("x"), 403, 401),
    (errors.Conflict("x", "1", "2"), 101, 409),
    (errors.ClockBehind(*TIMES), 3, 503),
    (errors.ClockJumped(*TIMES), 3, 503),
    (errors.StoreUnavailable("x", True), 3, 503),
    (errors.OutcomeUnknown("x"), 2, 500),
    (errors.StoreSealed("x"), 7, 503),
    (errors.StoreDamaged("x"), 2, 500),
    (errors.PerdureError("x"), 2, 500),
    (http_errors.CredentialsRequired(), 402, 401),
    (http_errors.InsecureCredentials(), 402, 403),
    (http_errors.TooManyAttempts(1.0), 403, 429),
    (http_errors.MalformedRequest("x"), 4, 400),
    (http_errors.BodyTooLarge(1), 4, 413),
    (http_errors.UnsupportedMediaType("x"), 4, 400),
    (http_errors.UnsupportedEncoding("gzip"), 4, 415),
    (http_errors.MethodNotAllowed("PUT", ("GET",)), 4, 405),
    (http_errors.NotFound(), 4, 404),
    (http_errors.RequestTimeout(), 3, 503),
    (http_errors.BodyTooSlow(), 4, 408),
    (http_errors.PreconditionFailed("x", "1", "2"), 4, 412),
]


@pytest.mark.parametrize(("problem", "code", "status"), EXPECTED, ids=lambda one: getattr(one, "code", None))
def test_an_error_has_its_code_and_its_status(problem: errors.PerdureError, code: int, status: int) -> None:
    assert (code_of(problem), status_of(problem)) == (code, status)


def test_every_code_has_a_status() -> None:
    assert all(code_of(problem) in HTTP for problem, _, _ in EXPECTED)


def test_credentials_over_plain_http_from_other_machines_are_refused(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry", settings='trusted_proxies = ["127.0.0.1"]') as office:
        elsewhere = {"X-Forwarded-For": "203.0.113.5"}
        name = f"{PREFIX}/x"
        private = office.make(text(2, "EMAIL", "a@example.org", permissions="1100"))
        for answer in (
            office.anonymous.get(handle_path(ADMIN), headers={**basic(), **elsewhere}),
            office.anonymous.put(handle_path(name), json=[], headers={**basic(), **elsewhere}),
            office.anonymous.put(handle_path(name), json=[], headers=elsewhere),
            office.anonymous.delete(handle_path(ADMIN), headers=elsewhere),
            office.anonymous.get(handle_path(private), params={"publicOnly": "false"}, headers=elsewhere),
        ):
            assert code(answer) == (403, 402)
            assert "www-authenticate" not in answer.headers
        assert code(office.anonymous.get(handle_path(name))) == (404, 100)
        secure = {**elsewhere, "X-Forwarded-Proto": "https"}
        assert code(office.anonymous.put(handle_path(name), json=[], headers=secure)) == (401, 402)
        assert code(office.anonymous.put(handle_path(name), json=[], headers={**basic(), **secure})) == (201, 1)


def test_a_timeout_is_reported_as_handle_clients_read_it(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry", settings="request_seconds = 1.0") as office:
        other = sqlite3.connect(office.server.folder / "perdure.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            answer = office.put(f"{PREFIX}/late", [text(1, "URL", "https://example.org/")])
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert code(answer) == (503, 3)
        assert answer.json()["handle"] == f"{PREFIX}/late"
        assert "may or may not have been carried out" in answer.json()["message"]
        assert answer.headers["content-type"] == "application/json;charset=utf-8"


class _Writer:
    status = 0
    response = Response(0)

    async def respond(self, response: Response) -> None:
        self.status, self.response = response.status, response


def test_an_internal_error_is_reported_as_handle_clients_read_it() -> None:
    async def broken(context: HandleContext) -> Response:
        context.handle = "12345/x"
        raise RuntimeError("xyzzy")

    async def send_request() -> Response:
        service = SimpleNamespace(deadlines=DeadlineTimer(), options=HttpOptions(), metrics=Metrics())
        request = make_request(service.options, {}, "127.0.0.1")
        writer = _Writer()
        await respond(service, request, writer, "handles", allow_methods("GET")(broken), format_error)  # type: ignore[arg-type]
        return writer.response

    answer = asyncio.run(send_request())
    body = json.loads(answer.body)
    assert (answer.status, body["responseCode"], body["handle"]) == (500, 2, "12345/x")
    assert "xyzzy" not in body["message"]
