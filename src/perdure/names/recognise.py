"""Any identifier, pasted in any usual form: what it is, whether it is right, and what can be read from it."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from perdure.errors import InvalidInput, InvalidName
from perdure.names import external, handle
from perdure.names.pasted import strip_blanks, unwrap
from perdure.names.readers import (
    BARE_READERS,
    Rank,
    Reading,
    handle_recognition,
    label_recognition,
    person_recognition,
    read_external,
    read_handle,
    read_ibi,
    read_pilin,
    read_ppid,
)
from perdure.names.recognition import UNKNOWN, Recognition, invalid, refused

MAX_TEXT: Final = 4096

_ADDRESS: Final = re.compile(r"https?://(?P<host>[^/?#\s]+)(?P<path>/[^?#]*)?", re.IGNORECASE)
_EMBEDDED: Final = re.compile(r'https?://[^\s"]+', re.IGNORECASE)
_FORWARDED: Final = re.compile(r".+[=/](?P<address>https?(?:://|%3A%2F%2F).+)", re.IGNORECASE)  # the last of several
_KNOWN_HOST: Final = re.compile(
    r"(?:www\.)?(?:hdl\.handle\.net|(?:dx\.)?doi\.org|resolver\.net\.au/hdl|urlib\.net|ppid\.org)/", re.IGNORECASE
)
_HANDLE_LABEL: Final = re.compile(
    r"(?:hdl|doi|handle)(?:\s{0,3}:\s{0,3}|\s{1,3}(?=[0-9]))|info:(?:hdl|doi)/", re.IGNORECASE
)
_PERSON_LABEL: Final = re.compile(r"ppid(?:\s{0,3}:\s{0,3}|\s{1,3})(?=\S)", re.IGNORECASE)
_IBI_LABEL: Final = re.compile(r"ibip?(?:\s{0,3}:\s{0,3}|\s{1,3})(?=\S)", re.IGNORECASE)
_HANDLE_API: Final = re.compile(r"(?P<proxy>https?://hdl\.handle\.net/)api/handles/", re.IGNORECASE)
_REPOSITORY_SOFTWARE: Final = re.compile(r"/handle/(?P<name>[0-9][^/]*/[^?#]+)")
_PERSON_PATH: Final = re.compile(r"/(?P<name>p[or]id-[^/.]*)(?:[/.].*)?$", re.IGNORECASE)
_LABEL_PATH: Final = re.compile(r"/(?:(?:rep|ibi)/)?(?P<label>.+)")
_URI: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,30}):", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(?P<scheme>isbn|issn)(?:-1[03])?[\s:]{0,3}[0-9][0-9 -]{6,16}[0-9X]$", re.IGNORECASE)
_ARK_ADDRESS: Final = re.compile(r"https?://[^/]+/ark:", re.IGNORECASE)
_FOREIGN: Final = {
    "ark": "an ARK",
    "arxiv": "an arXiv identifier",
    "file": "a file's address",
    "ftp": "a web address",
    "igsn": "an IGSN",
    "info": "an info: URI of another kind",
    "isbn": "an ISBN",
    "issn": "an ISSN",
    "mailto": "an e-mail address",
    "oai": "an OAI identifier",
    "purl": "a PURL",
    "swh": "a Software Heritage identifier",
    "urn": "a URN",
}


def recognise(text: str) -> Recognition:
    """The likeliest reading of a text, with the others as its alternatives. Never raises on text.

    >>> found = recognise(" <HTTPS://HDL.HANDLE.NET/102.100.272/Y35XYS0QH>. ")
    >>> found.scheme, found.canonical, found.details["instant"]
    ('pilin', '102.100.272/Y35XYS0QH', '2007-05-25T03:49:52.865Z')
    >>> [other.scheme for other in recognise("8JMKD3MGP8W/34PGRBS").alternatives]
    ['handle']
    """
    if not isinstance(text, str):
        raise InvalidInput("recognise", "text", f"only text can be recognised, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        return invalid(UNKNOWN, "length", f"the text has more than {MAX_TEXT} characters; no identifier has")
    core = unwrap(text)
    if not core:
        return invalid(UNKNOWN, "empty", "the text is empty")
    readings = list(_readings(core))
    return _best([*readings, *_as_it_stands(text, core, readings)]) or _unknown(core)


def _best(readings: Iterable[Reading]) -> Recognition | None:
    ranked: list[Recognition] = []
    for _, recognition in sorted(readings, key=lambda reading: reading.rank):
        if recognition not in ranked:
            ranked.append(recognition)
    return ranked[0].with_alternatives(tuple(ranked[1:])) if ranked else None


def _readings(core: str) -> Iterable[Reading]:
    scheme = external.introduced(core)
    if scheme:
        return [Reading(Rank.NAMED, read_external(scheme, core))]
    handle_label = _HANDLE_LABEL.match(core)
    if handle_label:  # spaces behind it are for the reader's eye, and the word may be written out
        is_uri = handle_label[0].lower().startswith("info:")
        return _handle_readings(core if is_uri else f"hdl:{core[handle_label.end() :]}")
    label = _PERSON_LABEL.match(core)
    if label:
        return [Reading(Rank.NAMED, person_recognition(core[label.end() :]))]
    label = _IBI_LABEL.match(core)
    if label:
        return [Reading(Rank.NAMED, label_recognition(core[label.end() :]))]
    embedded = _EMBEDDED.search(core)
    if embedded and embedded[0] != core:  # in the middle of a sentence
        return _readings(unwrap(embedded[0]))
    address = _ADDRESS.match(core)
    if address:
        return _address_readings(core, address)
    foreign = _foreign(core)
    if foreign:  # and yet, by its grammar, it may be a handle
        return [foreign, *(Reading(Rank.FAINT, recognition) for _, recognition in read_handle(core))]
    if "/" not in core and "%2f" in core.lower():  # cut out of an address, slash and all
        core = unquote(core)
    readings = [reading for reader in BARE_READERS for reading in reader(core)]
    if _KNOWN_HOST.match(core) and not any(reading.rank is Rank.UNMISTAKABLE for reading in readings):
        return [*_readings(f"https://{core}"), *readings]
    return readings


def _handle_readings(address: str) -> Iterable[Reading]:
    try:
        name = handle.parse(address)
    except InvalidName as problem:
        return [Reading(Rank.NAMED, refused(problem))]
    bare = str(name)
    pilin = [Reading(Rank.NAMED, r) if rank <= Rank.LIKELY else Reading(rank, r) for rank, r in read_pilin(bare)]
    return [*pilin, Reading(Rank.NAMED, handle_recognition(name)), *read_ibi(bare)]


def _address_readings(core: str, address: re.Match[str]) -> Iterable[Reading]:
    host, path = handle.fold(address["host"]).partition(":")[0], address["path"] or "/"
    if handle.is_proxy_address(core):
        return _handle_readings(_HANDLE_API.sub(lambda match: match["proxy"], core))
    try:
        path = handle.unescape(path)
    except InvalidName:
        return []
    person = _PERSON_PATH.search(path)
    if person:
        return read_ppid(person["name"])
    if host.removeprefix("www.") == "urlib.net" or (host.endswith(".inpe.br") and path.startswith(("/rep/", "/ibi/"))):
        return _label_address(host, path)
    deposited = _REPOSITORY_SOFTWARE.search(path)
    if deposited:
        return read_handle(deposited["name"])
    if _ARK_ADDRESS.match(core):
        return [_foreign_reading("ark")]
    forwarded = _FORWARDED.match(core)  # a library's login page, say, with the address that it leads to
    return _readings(_decoded(forwarded["address"])) if forwarded else []


def _decoded(address: str) -> str:
    return unquote(address) if "%3a%2f%2f" in address[:16].lower() else address


def _label_address(host: str, path: str) -> Iterable[Reading]:
    match = _LABEL_PATH.fullmatch(path)
    if match is None:
        return []
    # The resolver's own repositories are addressed without any prefix: their label is the address itself.
    own = label_recognition(f"{host.removeprefix('www.')}{path}")
    return [Reading(Rank.NAMED, own if own.valid else label_recognition(match["label"]))]


def _foreign(core: str) -> Reading | None:
    found = _URI.match(core) or _NUMBERED.match(core)
    return _foreign_reading(found["scheme"].lower()) if found else None


def _foreign_reading(scheme: str) -> Reading:
    what = _FOREIGN.get(scheme, f"a URI of the scheme {scheme!r}")
    reason = f"this looks like {what}, which is none of the schemes known here"
    return Reading(Rank.NAMED, invalid(UNKNOWN, "other scheme", reason))


def _as_it_stands(text: str, core: str, others: list[Reading]) -> Iterable[Reading]:
    """A handle may well end in the full stop, or the bracket, that was taken for the sentence's."""
    exact = strip_blanks(text)
    if exact == core or not exact.startswith(core) or "://" in exact:
        return []
    rank = Rank.FAINT if any(reading.recognition.valid for reading in others) else Rank.NAMED
    return [Reading(rank, recognition) for _, recognition in read_handle(exact) if recognition.valid]


def _unknown(core: str) -> Recognition:
    if _ADDRESS.match(core):
        return invalid(UNKNOWN, "address", "this is a web address, but not of a resolver or registry known here")
    if "/" in core:
        try:
            handle.parse(core)
        except InvalidName as problem:
            return invalid(UNKNOWN, problem.part, f"this is no handle: {problem.reason}")
    return invalid(
        UNKNOWN,
        "not recognised",
        "this is none of the forms known here: a handle has a slash, a person identifier begins with POID- or PRID-",
    )
