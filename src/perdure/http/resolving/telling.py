"""What a reader is told who is not sent on: a record, a tombstone, or why there is nothing."""

from typing import Any, Final

import msgspec

from perdure.errors import InvalidName, NoSuchName, NoSuchPrefix, PerdureError, Withdrawn
from perdure.http import pages
from perdure.http.answers import location, redirect_note
from perdure.http.message import Headers, Request, Response
from perdure.http.problems import PROBLEM, document, headers_of, problem_response, status_of
from perdure.http.refusals import NotNegotiable
from perdure.http.resolving.aside import done_aside
from perdure.http.resolving.asked import Asked
from perdure.http.resolving.finding import Finding, KeptPrefix
from perdure.http.resolving.forms import has_already, wants_problem, wants_record
from perdure.http.resolving.places import link_to, path_of, record_path
from perdure.http.resolving.rows import rows_of
from perdure.http.resolving.signposts import places_of, signposts
from perdure.http.service import Service
from perdure.http.v1.showing import shown_identifier, shown_value
from perdure.linked import Withdrawal
from perdure.names.ppid import validate_ppid
from perdure.records.authority import to_seconds
from perdure.records.location_xml import LOCATIONS
from perdure.registry import show
from perdure.registry.entities import Act, Agent
from perdure.registry.looking import View

VARY: Final = (b"vary", b"accept")
FRESH: Final = (b"cache-control", b"no-cache")
UNSTORED: Final = (b"cache-control", b"no-store")
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


async def record(service: Service, request: Request, finding: Finding, asked: Asked) -> Response:
    """All that may be shown of an identifier to anybody: as a page, or for programs."""
    view = await show(service.registry, finding.name)
    size = len(finding.found.record)
    return await done_aside(view.values, size, lambda: _record(service, request, finding, asked, view))


def _record(service: Service, request: Request, finding: Finding, asked: Asked, view: View) -> Response:
    view = msgspec.structs.replace(
        view, values=tuple(asked.values.of(view.values)), handle_record=tuple(asked.values.of(view.handle_record))
    )
    if asked.restricts and not any(value.kind == LOCATIONS for value in view.values):
        view = msgspec.structs.replace(view, locations=())  # they have no say in what was asked for
    leads_to = places_of(service, request, finding, view, follows_aliases=not asked.ignores_aliases)
    posts = signposts(service, request, view, leads_to)
    if wants_record(request):
        return _record_document(request, view, posts)
    return pages.page(
        "record.html",
        200,
        [VARY, FRESH, *posts],
        **_told_everywhere(service),
        view=view,
        rows=rows_of(service, view.handle_record),
        asked=asked,
        leads_to=leads_to,
        rest=finding.rest,
        asked_name=finding.asked,
        withdrawal=withdrawal_of(finding),
        record_path=record_path(view.name),
        link=lambda identifier: link_to(service, identifier),
    )


async def kept_prefix(service: Service, request: Request, kept: KeptPrefix, asked: Asked) -> Response:
    """What is said of a prefix."""
    return await done_aside(kept.values, 0, lambda: _prefix(service, request, kept, asked))


def _prefix(service: Service, request: Request, kept: KeptPrefix, asked: Asked) -> Response:
    values = asked.values.of(kept.values)
    if wants_record(request):
        said = {
            "name": kept.name,
            "scheme": "handle",
            "state": "active",
            "values": [shown_value(one) for one in values],
        }
        return Response(200, _encode(said), [(b"content-type", b"application/json"), VARY, FRESH])
    return pages.page(
        "prefix.html",
        200,
        [VARY, FRESH],
        **_told_everywhere(service),
        name=kept.name,
        prefix=kept.prefix,
        rows=rows_of(service, values),
        asked=asked,
    )


def tombstone(service: Service, request: Request, finding: Finding) -> Response:
    """Who withdrew it, when, why, and what stands in its place."""
    stone = finding.record.tombstone
    assert stone is not None  # noqa: S101  (whoever asks has looked)
    problem = Withdrawn(finding.name, stone.reason, stone.replaced_by)
    withdrawal = withdrawal_of(finding)
    if wants_problem(request):
        said = document(problem) | {f"withdrawn_{part}": told for part, told in withdrawal._asdict().items() if told}
        said["reason"] = stone.reason
        headers: Headers = [(b"content-type", PROBLEM), VARY, FRESH]
        return Response(410, _encode(said), headers)
    return pages.page(
        "tombstone.html",
        410,
        [VARY, FRESH],
        **_told_everywhere(service),
        name=finding.name,
        stone=stone,
        withdrawal=withdrawal,
        created=finding.record.created,
        about=finding.record.about,
        record_path=record_path(finding.name),
        link=lambda identifier: link_to(service, identifier),
    )


def refusal(service: Service, request: Request, problem: PerdureError) -> Response:
    """A problem document for a program, a page for a person."""
    if wants_problem(request):
        return problem_response(problem).with_headers([VARY])
    guesses = problem.suggestions if isinstance(problem, NoSuchName) else ()
    if isinstance(problem, InvalidName) and problem.suggestion:
        guesses = (problem.suggestion,)
    return pages.page(
        "refusal.html",
        status_of(problem),
        [VARY, UNSTORED, *headers_of(problem)],
        **_told_everywhere(service),
        status=status_of(problem),
        title=_title(problem),
        detail=_detail(problem),
        guesses=[(guess, path_of(guess)) for guess in guesses],
        forms=zip(problem.available, problem.places, strict=False) if isinstance(problem, NotNegotiable) else (),
    )


def moved(to: str, status: int, caching: bytes) -> Response:
    """To another name at this server, or to another server."""
    place = location(to)
    return Response(
        status,
        redirect_note(place),
        [
            (b"cache-control", caching),
            VARY,
            (b"content-type", b"text/html; charset=utf-8"),
            (b"location", place),
        ],
    )


def _record_document(request: Request, view: View, posts: Headers) -> Response:
    tag = f'"{view.version}-json"'
    headers = [VARY, FRESH, (b"etag", tag.encode()), *posts]
    if has_already(request, tag):
        return Response(304, b"", headers)
    return Response(200, _encode(shown_identifier(view)), [(b"content-type", b"application/json"), *headers])


def withdrawal_of(finding: Finding) -> Withdrawal:
    """By whom and when. Who is no agent here, as the holder of a handle's key, is told as the history has it."""
    return Withdrawal("", "") if finding.withdrawal is None else told_withdrawal(finding.name, *finding.withdrawal)


def told_withdrawal(name: str, act: Act, agent: Agent | None) -> Withdrawal:
    """The same, of an act and whoever did it."""
    # Of somebody who took back what is said of themselves, the name may be just what is not to be shown.
    is_themselves = agent is not None and validate_ppid(name) and name.lower() in agent.identifier.lower()
    by, identifier = (act.agent, "") if agent is None or is_themselves else (agent.name, agent.identifier)
    return Withdrawal(to_seconds(act.at), by, identifier)


def _title(problem: PerdureError) -> str:
    status = status_of(problem)
    if isinstance(problem, NoSuchPrefix):
        return "This prefix is not kept here"
    if isinstance(problem, NoSuchName):
        return "There is no such identifier here"
    return {400: "This cannot be understood", 405: "This cannot be done here"}.get(status, "This did not work")


def _detail(problem: PerdureError) -> str:
    if isinstance(problem, NoSuchPrefix):
        return f"Names that begin with {problem.name} belong to another registry, or to none."
    if type(problem) is NoSuchName:
        return f"Nothing is registered under {problem.name}."
    said = str(problem)
    return f"{said[:1].upper()}{said[1:]}."


def _told_everywhere(service: Service) -> dict[str, Any]:
    return {"contact": service.options.contact}
