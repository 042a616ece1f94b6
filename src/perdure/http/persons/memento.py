"""Versions of a person by date (Memento, RFC 7089): a PRID is its own TimeGate, its history the TimeMap."""

from collections.abc import Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from perdure.http.app_context import AppContext
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.redirects import encode_location, redirect_response
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import http_date
from perdure.http.urls import path_of, with_query
from perdure.registry.entities import Act
from perdure.registry.persons import list_person_versions

VARY = (b"vary", b"accept, accept-datetime")


def requested_datetime(request: Request) -> datetime | None:
    """Return the instant that the client requests in Accept-Datetime, in UTC."""
    text = request.header(b"accept-datetime")
    if text is None:
        return None
    try:
        found = parsedate_to_datetime(text)
        return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):  # the latter for impossible years, hours and zones
        raise MalformedRequest(
            "invalid Accept-Datetime: it must be an HTTP date, as in Thu, 09 Jan 2025 10:30:00 GMT"
        ) from None


async def timegate_response(app: AppContext, request: Request, name: str, at: datetime, ending: str) -> Response:
    """Return a redirect to the version of that instant, or to the first, in the format that the URL names."""
    acts = await list_person_versions(app.registry, name)
    earlier = [act for act in acts if instant_of(act.at) <= at]
    chosen = earlier[-1] if earlier else acts[0]
    url = with_query(f"{path_of(name)}/v{chosen.version}{ending}", request.query)
    links = [*timemap_links(request.origin, name), *version_links(request.origin, name, acts, chosen)]
    return with_vary_datetime(redirect_response(url, 302, b"no-cache")).with_headers([(b"link", b", ".join(links))])


def with_vary_datetime(response: Response) -> Response:
    """Return a response of a TimeGate, with a Vary for caches that names Accept-Datetime."""
    return response._replace(headers=[*(one for one in response.headers if one[0] != b"vary"), VARY])


def timemap_links(origin: str, name: str) -> list[bytes]:
    """Return the links to the TimeGate and the TimeMap of a person."""
    here = f"{origin}{path_of(name)}"
    return [
        format_link(here, 'rel="original timegate"'),
        format_link(f"{here}/history", 'rel="timemap"; type="application/link-format"'),
    ]


def version_links(origin: str, name: str, acts: Sequence[Act], chosen: Act) -> list[bytes]:
    """Return the links to the first and last version, and to those beside the chosen one."""
    relations = {"first": acts[0], "last": acts[-1], "memento": chosen}
    at = acts.index(chosen)
    if at > 0:
        relations["prev"] = acts[at - 1]
    if at + 1 < len(acts):
        relations["next"] = acts[at + 1]
    return [_format_memento(origin, name, act, relation) for relation, act in relations.items()]


def format_timemap(origin: str, name: str, acts: Sequence[Act]) -> bytes:
    """Return all versions as a TimeMap."""
    here = f"{origin}{path_of(name)}"
    span = f'from="{format_http_date(acts[0].at)}"; until="{format_http_date(acts[-1].at)}"'
    lines = [
        format_link(here, 'rel="original timegate"'),
        format_link(f"{here}/history", f'rel="self"; type="application/link-format"; {span}'),
    ]
    for act in acts:
        relations = [word for word, one in (("first", acts[0]), ("last", acts[-1])) if one is act]
        lines.append(_format_memento(origin, name, act, " ".join([*relations, "memento"])))
    return b",\n".join(lines) + b"\n"


def _format_memento(origin: str, name: str, act: Act, relation: str) -> bytes:
    words = relation if "memento" in relation else f"{relation} memento"
    url = f"{origin}{path_of(name)}/v{act.version}"
    return format_link(url, f'rel="{words}"; datetime="{format_http_date(act.at)}"')


def format_link(target: str, attributes: str) -> bytes:
    """Return one link of a header Link."""
    return b"<%b>; %b" % (encode_location(target), attributes.encode())


def format_http_date(at: str) -> str:
    """Return the instant of an act as HTTP headers write it."""
    return http_date(int(instant_of(at).timestamp())).decode()


def instant_of(at: str) -> datetime:
    """Return the instant of an act, in whole seconds."""
    return datetime.fromisoformat(at).replace(microsecond=0)
