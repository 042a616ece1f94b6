"""Every error has its response code, and every code its status."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.http.handle_office import ADMIN, PREFIX, basic, code, handle_office, place, text

from perdure import errors
from perdure.http import refusals
from perdure.http.handle_api.codes import HTTP, code_of, status_of

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
    (refusals.CredentialsNeeded(), 402, 401),
    (refusals.PlainCredentials(), 402, 403),
    (refusals.TooManyAttempts(1.0), 403, 429),
    (refusals.Malformed("x"), 4, 400),
    (refusals.BodyTooLarge(1), 4, 413),
    (refusals.UnsupportedBody("x"), 4, 400),
    (refusals.MethodNotAllowed("PUT", ("GET",)), 4, 405),
    (refusals.NothingHere(), 4, 404),
    (refusals.TookTooLong(), 3, 503),
]


@pytest.mark.parametrize(("problem", "said", "status"), EXPECTED, ids=lambda one: getattr(one, "code", None))
def test_an_error_has_its_code_and_its_status(problem: errors.PerdureError, said: int, status: int) -> None:
    assert (code_of(problem), status_of(problem)) == (said, status)


def test_every_code_has_a_status() -> None:
    assert all(code_of(problem) in HTTP for problem, _, _ in EXPECTED)


def test_credentials_are_not_taken_over_plain_http_from_elsewhere(tmp_path: Path) -> None:
    with handle_office(tmp_path / "registry", settings='trusted_proxies = ["127.0.0.1"]') as office:
        elsewhere = {"X-Forwarded-For": "203.0.113.5"}
        name = f"{PREFIX}/x"
        private = office.make(text(2, "EMAIL", "a@example.org", permissions="1100"))
        for answer in (
            office.nobody.get(place(ADMIN), headers={**basic(), **elsewhere}),
            office.nobody.put(place(name), json=[], headers={**basic(), **elsewhere}),
            office.nobody.put(place(name), json=[], headers=elsewhere),
            office.nobody.delete(place(ADMIN), headers=elsewhere),
            office.nobody.get(place(private), params={"publicOnly": "false"}, headers=elsewhere),
        ):
            assert code(answer) == (403, 402)
            assert "www-authenticate" not in answer.headers
        assert code(office.nobody.get(place(name))) == (404, 100)
        secure = {**elsewhere, "X-Forwarded-Proto": "https"}
        assert code(office.nobody.put(place(name), json=[], headers=secure)) == (401, 402)
        assert code(office.nobody.put(place(name), json=[], headers={**basic(), **secure})) == (201, 1)
