"""What was said at some time before (Memento, RFC 7089): a PRID is its own TimeGate, its history the TimeMap."""

from collections.abc import Sequence
from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime

from perdure.http.answers import location
from perdure.http.message import Request, Response
from perdure.http.refusals import Malformed
from perdure.http.resolving.places import path_of, with_query
from perdure.http.resolving.telling import moved
from perdure.http.service import Service
from perdure.registry.entities import Act
from perdure.registry.persons import versions_of

VARY = (b"vary", b"accept, accept-datetime")


def wanted(request: Request) -> datetime | None:
    """The time that a client asks for, in UTC."""
    text = request.header(b"accept-datetime")
    if text is None:
        return None
    try:
        found = parsedate_to_datetime(text)
        return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):  # the latter for years, hours and zones that no calendar has
        raise Malformed(
            "accept-datetime must be a date as HTTP writes it, as in Thu, 09 Jan 2025 10:30:00 GMT"
        ) from None


async def time_gate(service: Service, request: Request, name: str, at: datetime, ending: str) -> Response:
    """To the version that held then, in the form that the address names; to the first, for a time before it."""
    acts = await versions_of(service.registry, name)
    then = [act for act in acts if instant_of(act.at) <= at]
    chosen = then[-1] if then else acts[0]
    place = with_query(f"{path_of(name)}/v{chosen.version}{ending}", request.query)
    links = [*relations(request.origin, name), *neighbours(request.origin, name, acts, chosen)]
    return varying(moved(place, 302, b"no-cache")).with_headers([(b"link", b", ".join(links))])


def varying(answer: Response) -> Response:
    """An answer of a TimeGate: who asks for another time is answered otherwise, and caches have to know."""
    return answer._replace(headers=[*(one for one in answer.headers if one[0] != b"vary"), VARY])


def relations(origin: str, name: str) -> list[bytes]:
    """What every answer about a person's past links to."""
    here = f"{origin}{path_of(name)}"
    return [
        link(here, 'rel="original timegate"'),
        link(f"{here}/history", 'rel="timemap"; type="application/link-format"'),
    ]


def neighbours(origin: str, name: str, acts: Sequence[Act], chosen: Act) -> list[bytes]:
    """The first and the last version, and those beside the chosen one."""
    places = {"first": acts[0], "last": acts[-1], "memento": chosen}
    at = acts.index(chosen)
    if at > 0:
        places["prev"] = acts[at - 1]
    if at + 1 < len(acts):
        places["next"] = acts[at + 1]
    return [_memento(origin, name, act, relation) for relation, act in places.items()]


def time_map(origin: str, name: str, acts: Sequence[Act]) -> bytes:
    """All versions, as programs that travel in time read them."""
    here = f"{origin}{path_of(name)}"
    span = f'from="{http_date(acts[0].at)}"; until="{http_date(acts[-1].at)}"'
    lines = [
        link(here, 'rel="original timegate"'),
        link(f"{here}/history", f'rel="self"; type="application/link-format"; {span}'),
    ]
    for act in acts:
        places = [word for word, one in (("first", acts[0]), ("last", acts[-1])) if one is act]
        lines.append(_memento(origin, name, act, " ".join([*places, "memento"])))
    return b",\n".join(lines) + b"\n"


def _memento(origin: str, name: str, act: Act, relation: str) -> bytes:
    words = relation if "memento" in relation else f"{relation} memento"
    place = f"{origin}{path_of(name)}/v{act.version}"
    return link(place, f'rel="{words}"; datetime="{http_date(act.at)}"')


def link(target: str, attributes: str) -> bytes:
    return b"<%b>; %b" % (location(target), attributes.encode())


def http_date(at: str) -> str:
    return format_datetime(instant_of(at), usegmt=True)


def instant_of(at: str) -> datetime:
    return datetime.fromisoformat(at).replace(microsecond=0)
