"""From a request to its answer: the quick way for a plain redirect, and the whole way for everything else."""

from typing import Final

from perdure.errors import NoSuchName, NoSuchPrefix, PerdureError
from perdure.http import answers, pages
from perdure.http.message import Request, Response
from perdure.http.persons import person, varying, words
from perdure.http.problems import status_of
from perdure.http.refusals import Malformed, MethodNotAllowed, Reserved
from perdure.http.resolving import telling
from perdure.http.resolving.aside import done_aside
from perdure.http.resolving.asked import Asked, asked_for
from perdure.http.resolving.choosing import choose, listed
from perdure.http.resolving.finding import Finding, KeptPrefix, aliased, check_chain, find, find_prefix
from perdure.http.resolving.forms import wants_record
from perdure.http.resolving.home import FIXED, home
from perdure.http.resolving.linked import Form, described, is_left_to_the_record, reserved, told_of_prefix, wanted_form
from perdure.http.resolving.places import appended, bare, continued, link_to, path_of, with_query
from perdure.http.service import Service
from perdure.names import handle
from perdure.records.checks import Limits
from perdure.records.record import OWN_LIFETIME
from perdure.registry.naming import locate
from perdure.registry.protocol import Reader

_IBI: Final = "ibi:"  # what people write in front of a label, and is no part of it
_READING: Final = ("GET", "HEAD")
_A_DAY: Final = 86_400  # seconds
_IN_TIME: Final = "PRID-"  # what is said of these may be asked for at any time


async def resolve(service: Service, request: Request) -> Response:
    """Every path that is no other door's."""
    try:
        if request.path == "/":
            return await home(service, request)
        if request.method not in _READING:
            raise MethodNotAllowed(request.method, _READING)
        if request.path in FIXED:
            return FIXED[request.path]
        text = handle.unescape(request.path[1:])
        answer = await person(service, request, text) or words(service, request)
        if answer is not None:
            return answer
        answer = await _answer(service, request, text)
        return varying(answer) if text.startswith(_IN_TIME) else answer
    except PerdureError as problem:
        if status_of(problem) >= 500:
            raise  # it is counted and logged where all such are
        return telling.refusal(service, request, problem)


async def _answer(service: Service, request: Request, text: str) -> Response:
    is_record, form = wants_record(request), wanted_form(request)
    if not request.query and not is_record and form is None:
        plain = await _plain_redirect(service, text)
        if plain is not None:
            return plain
    asked = asked_for(request)
    follows = not (asked.ignores_aliases or asked.info or is_record or form)

    def work(reader: Reader) -> Finding | KeptPrefix:
        try:
            finding = find(reader, text)
        except NoSuchName:
            kept = find_prefix(service.registry, reader, text)
            if kept is None:
                raise
            return kept
        if not asked.info:
            check_chain(reader, finding, follows_aliases=follows)
        return finding

    try:
        finding = await service.registry.store.read(work)
    except NoSuchPrefix:
        elsewhere = _upstream(service, request, text)
        if elsewhere is None:
            raise
        return elsewhere
    if isinstance(finding, KeptPrefix):
        if form is not None:
            return told_of_prefix(service, request, finding, form)
        return await telling.kept_prefix(service, request, finding, asked)
    if service.prefixes.prefix(finding.prefix.key) is None:  # another process has added it
        await service.prefixes.refresh()
    if finding.is_slip:
        return telling.moved(with_query(path_of(finding.name), request.query), 301, b"max-age=%d" % _A_DAY)
    if finding.record.state != "active":
        return await _inactive(service, request, finding, asked, form)
    onward = aliased(finding) if follows else None
    if onward is not None and finding.alias is not None:
        seconds = min(answers.lifetime(finding.alias.ttl), _A_DAY)
        return telling.moved(with_query(path_of(onward), request.query), 301, b"max-age=%d" % seconds)
    if form is not None and not await is_left_to_the_record(service, request, finding, asked, form):
        return await described(service, request, finding, form)
    return await _active(service, request, finding, asked, is_record)


async def _plain_redirect(service: Service, text: str) -> Response | None:
    """One look-up, for nearly all requests; None where there is more to it."""
    try:
        located = locate(service.prefixes, text)
    except PerdureError:
        return None
    found = await service.registry.store.lookup(located.key)
    if found is None or found.target is None or OWN_LIFETIME in found.record:
        return None
    if answers.target_location(found.target) is None:
        return None
    return answers.redirect(found.target, found.version)


async def _active(service: Service, request: Request, finding: Finding, asked: Asked, is_record: bool) -> Response:
    limits = service.registry.settings.limits
    record, size = finding.record, len(finding.found.record)
    if asked.lists_locations:
        xml = await done_aside(record.values, size, lambda: listed(record, asked, limits))
        return pages.document(xml, b"text/xml; charset=utf-8", [telling.VARY])
    if asked.info or asked.shows_values or is_record:
        return await telling.record(service, request, finding, asked)
    choice = await done_aside(record.values, size, lambda: choose(request, record, asked, limits))
    if choice is None:
        if finding.rest:
            raise NoSuchName(finding.asked, (finding.name,))
        return await telling.record(service, request, finding, asked)
    target = _passed_through(choice.target, finding, limits) if finding.rest else choice.target
    if asked.append:
        target = appended(target, asked.append, limits)
    return answers.redirect(target, finding.found.version, choice.ttl, choice.status, choice.vary)


def _passed_through(target: str, finding: Finding, limits: Limits) -> str:
    """Where a longer name leads; a rest that cannot be passed on makes it a name like any other, and not there."""
    try:
        return continued(target, finding.rest, limits)
    except Malformed:
        raise NoSuchName(finding.asked, (finding.name,)) from None


async def _inactive(service: Service, request: Request, finding: Finding, asked: Asked, form: Form | None) -> Response:
    stone = finding.record.tombstone
    if stone is None:
        if form is not None:
            return reserved(service, request, finding, form)
        raise Reserved(finding.name)
    is_merged = finding.record.state == "merged" and stone.replaced_by is not None
    if is_merged and asked.info:
        if form is not None:
            return await described(service, request, finding, form)
        return await telling.record(service, request, finding, asked)
    survivor = link_to(service, stone.replaced_by) if is_merged and stone.replaced_by is not None else None
    if survivor is None:
        if form is not None:
            return await described(service, request, finding, form, 410)
        return telling.tombstone(service, request, finding)
    if survivor.startswith("/"):  # it is kept here, and takes what this one would have taken
        survivor = with_query(survivor + handle.escape(finding.rest), request.query)
    return telling.moved(survivor, 301, b"no-cache")  # a merge can be undone


def _upstream(service: Service, request: Request, text: str) -> Response | None:
    """To the resolver that is asked for what is not kept here, if the settings name one."""
    upstream = service.options.upstream
    if not upstream or request.origin == upstream.rstrip("/"):
        return None
    name = bare(text)
    if handle.fold(name).startswith(_IBI):
        name = name[len(_IBI) :]
    return telling.moved(with_query(upstream.rstrip("/") + path_of(name), request.query), 302, b"no-cache")
