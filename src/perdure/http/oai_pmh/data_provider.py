"""`/oai`: the data provider of OAI-PMH 2.0 (http://www.openarchives.org/OAI/openarchivesprotocol.html).

Everything is public. A reserved name has no record; of a withdrawn one, and of a person who is hidden, there is only
the header of a deleted record.
"""

import re
from contextlib import suppress
from typing import Final

from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.app_context import AppContext
from perdure.http.oai_pmh.arguments import Arguments, read_arguments, read_period
from perdure.http.oai_pmh.document import write_document, write_error
from perdure.http.oai_pmh.dublin_core import NAMESPACE, PREFIX, SCHEMA
from perdure.http.oai_pmh.identify import write_identify
from perdure.http.oai_pmh.list_token import ListToken, format_token, parse_token
from perdure.http.oai_pmh.protocol_errors import ProtocolError
from perdure.http.oai_pmh.record_identifier import name_of
from perdure.http.oai_pmh.record_sets import list_sets, parse_set
from perdure.http.oai_pmh.records import write_header, write_record
from perdure.http.oai_pmh.xml_text import element, enclose
from perdure.http.shared.http_errors import MalformedRequest, MethodNotAllowed, UnsupportedMediaType
from perdure.http.shared.query_string import Parameters, parse_form, parse_query
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_CACHE
from perdure.names import instant
from perdure.registry.harvest import HarvestedIdentifier, HarvestSelection, first_number_of, harvest_one, harvest_page
from perdure.registry.store_interface import Reader

_FORM: Final = "application/x-www-form-urlencoded"
_METHODS: Final = ("GET", "HEAD", "POST")
_LARGEST_FORM: Final = 65_536  # bytes
_PAGE_SIZES: Final = {"ListRecords": 100, "ListIdentifiers": 500}
_SETS_ON_PAGE: Final = 500
_SCAN_SHARE: Final = 0.3  # of the time of a request, after which a list is continued by the next one
_FORMAT_NAME: Final = re.compile(r"[A-Za-z0-9_.!~*'()-]+")
_BEGINNING: Final = -(1 << 62)


async def respond(app: AppContext, request: Request) -> Response:
    """Return the response to a request of a harvester."""
    base = f"{request.origin}{request.path}"
    at = instant.to_iso(int(instant.from_iso(app.registry.current_time(), "oai")))
    try:
        parameters = await _read_parameters(request)
        verb, arguments = read_arguments(parameters)
        try:
            body = write_document(at, base, dict(verb=verb, **arguments), await _answer(app, request, verb, arguments))
        except ProtocolError as error:
            shown = {} if error.code == "badArgument" else {"verb": verb, **arguments}
            body = write_document(at, base, shown, write_error(error))
    except ProtocolError as error:
        body = write_document(at, base, {}, write_error(error))
    return Response(200, body.encode(), [(b"content-type", b"text/xml; charset=utf-8"), NO_CACHE])


async def _read_parameters(request: Request) -> Parameters:
    if request.method not in _METHODS:
        raise MethodNotAllowed(request.method, _METHODS)
    try:
        if request.method != "POST":
            return parse_query(request.query)
        kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
        if kind != _FORM:
            raise UnsupportedMediaType(_FORM)
        return parse_form(await request.body(_LARGEST_FORM))
    except MalformedRequest as problem:
        raise ProtocolError("badArgument", str(problem)) from None


async def _answer(app: AppContext, request: Request, verb: str, arguments: Arguments) -> str:
    match verb:
        case "Identify":
            return enclose(verb, await write_identify(app, request))
        case "ListMetadataFormats":
            if "identifier" in arguments:
                await _find_record(app, request, arguments["identifier"])
            return enclose(verb, _write_format())
        case "ListSets":
            return enclose(verb, await _list_sets(app, arguments))
        case "GetRecord":
            _check_format(arguments)
            found = await _find_record(app, request, arguments["identifier"])
            return enclose(verb, write_record(app, request, found))
        case _:
            return enclose(verb, await _list_records(app, request, verb, arguments))


async def _find_record(app: AppContext, request: Request, identifier: str) -> HarvestedIdentifier:
    name = name_of(request, identifier)
    if name is not None:
        with suppress(InvalidInput, InvalidName, NoSuchName):
            return await harvest_one(app.registry, name)
    raise ProtocolError("idDoesNotExist", "no record has this identifier")


async def _list_sets(app: AppContext, arguments: Arguments) -> str:
    token = _read_token(arguments, "ListSets")

    def work(reader: Reader) -> list[str]:
        return list(list_sets(reader.prefixes(), reader.collections()))

    sets = await app.registry.store.read(work)
    start = 0 if token is None else token.cursor
    page = sets[start : start + _SETS_ON_PAGE]
    end = start + len(page)
    onward = ListToken(verb="ListSets", after=0, cursor=end) if end < len(sets) else None
    return "".join(page) + _write_token(onward, start, has_parts=token is not None)


async def _list_records(app: AppContext, request: Request, verb: str, arguments: Arguments) -> str:
    token = _read_token(arguments, verb)
    if token is None:
        start, end = read_period(arguments)
        if "set" in arguments:
            parse_set(arguments["set"])
        _check_format(arguments)  # last: the response repeats the other arguments, which must be valid for that
        token = ListToken(
            verb="ListRecords" if verb == "ListRecords" else "ListIdentifiers",
            after=_BEGINNING if start is None else first_number_of(start) - 1,
            before=None if end is None else first_number_of(end),
            set=arguments.get("set"),
            cursor=0,
        )
    is_first = token.cursor == 0
    selection = HarvestSelection() if token.set is None else parse_set(token.set)
    page = await harvest_page(
        app.registry,
        selection,
        token.after,
        token.before,
        _PAGE_SIZES[verb],
        app.options.request_seconds * _SCAN_SHARE,
    )
    if not page.identifiers and page.next is None and "resumptionToken" not in arguments:
        raise ProtocolError("noRecordsMatch", "no record matches these arguments")
    write = write_record if verb == "ListRecords" else write_header
    body = "".join(write(app, request, found) for found in page.identifiers)
    onward = None
    if page.next is not None:
        onward = ListToken(
            verb=token.verb,
            after=page.next,
            before=token.before,
            set=token.set,
            cursor=token.cursor + len(page.identifiers),
        )
    return body + _write_token(onward, token.cursor, has_parts=not is_first)


def _read_token(arguments: Arguments, verb: str) -> ListToken | None:
    """Return the token of a request, if it continues a list. Raise ProtocolError if it is the token of another verb."""
    text = arguments.get("resumptionToken")
    if text is None:
        return None
    token = parse_token(text)
    if token.verb != verb:
        raise ProtocolError("badResumptionToken", f"the resumption token is one of {token.verb}, not of {verb}")
    return token


def _write_token(onward: ListToken | None, cursor: int, *, has_parts: bool) -> str:
    """Return the element of the next token; an empty one ends a list that was sent in parts."""
    if onward is not None:
        return element("resumptionToken", format_token(onward), cursor=cursor)
    return element("resumptionToken", cursor=cursor) if has_parts else ""


def _check_format(arguments: Arguments) -> None:
    if _FORMAT_NAME.fullmatch(arguments["metadataPrefix"]) is None:
        raise ProtocolError("badArgument", "metadataPrefix is not the name of a format: see ListMetadataFormats")
    if arguments["metadataPrefix"] != PREFIX:
        raise ProtocolError("cannotDisseminateFormat", f"the only format is {PREFIX}")


def _write_format() -> str:
    parts = element("metadataPrefix", PREFIX) + element("schema", SCHEMA) + element("metadataNamespace", NAMESPACE)
    return enclose("metadataFormat", parts)
