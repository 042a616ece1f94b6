"""Any identifier, pasted in any usual form: what it is, whether it is right, and what can be read from it."""

import re
from collections.abc import Iterable
from typing import Final

from perdure.errors import InvalidInput, InvalidName
from perdure.names import external, handle
from perdure.names.pasted import strip_blanks, unwrap
from perdure.names.readers import (
    BARE_READERS,
    Rank,
    Reading,
    handle_recognition,
    read_external,
    read_handle,
    read_ibi,
    read_pilin,
    read_ppid,
    read_repository,
)
from perdure.names.recognition import UNKNOWN, Recognition, invalid, refused

MAX_TEXT: Final = 4096

_ADDRESS: Final = re.compile(r"https?://(?P<host>[^/?#\s]+)(?P<path>/[^?#]*)?", re.IGNORECASE)
_EMBEDDED: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_KNOWN_HOST: Final = re.compile(
    r"(?:www\.)?(?:hdl\.handle\.net|(?:dx\.)?doi\.org|resolver\.net\.au/hdl|urlib\.net|ppid\.org)/", re.IGNORECASE
)
_HANDLE_LABEL: Final = re.compile(r"(?:hdl|doi|handle)(?:\s*:\s*|\s+(?=[0-9]))|info:(?:hdl|doi)/", re.IGNORECASE)
_OTHER_LABEL: Final = re.compile(r"(?P<label>ppid|ibip?)\s*:\s*(?=\S)", re.IGNORECASE)
_HANDLE_API: Final = re.compile(r"(?P<proxy>https?://hdl\.handle\.net/)api/handles/", re.IGNORECASE)
_REPOSITORY_SOFTWARE: Final = re.compile(r"/handle/(?P<name>[0-9][^/]*/[^?#]+)")
_PERSON_PATH: Final = re.compile(r"/(?P<name>p[or]id-[^/]*)(?:/(?P<page>.*))?$", re.IGNORECASE)
_LABEL_PATH: Final = re.compile(r"/(?:(?:rep|ibi)/)?(?P<label>.+)")
_FOREIGN: Final = {
    "ark:": "an ARK",
    "urn:": "a URN",
    "mailto:": "an e-mail address",
    "swh:": "a Software Heritage identifier",
    "isbn": "an ISBN",
    "issn": "an ISSN",
    "purl:": "a PURL",
    "ftp://": "a web address",
    "igsn:": "an IGSN",
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
        reason = f"the text has {len(text)} characters; no identifier has more than {MAX_TEXT}"
        return invalid(UNKNOWN, "length", reason)
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
    label = _OTHER_LABEL.match(core)
    if label:
        reader = read_ppid if label["label"].lower() == "ppid" else read_ibi
        named = list(reader(core[label.end() :]))
        if named:
            return named
    address = _ADDRESS.match(core)
    if address:
        return _address_readings(core, address)
    if any(handle.fold(core).startswith(foreign) for foreign in _FOREIGN):
        return []
    embedded = _EMBEDDED.search(core)
    if embedded:  # in the middle of a sentence
        return _readings(unwrap(embedded[0]))
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
    return read_handle(deposited["name"]) if deposited else []


def _label_address(host: str, path: str) -> Iterable[Reading]:
    match = _LABEL_PATH.fullmatch(path)
    if match is None:
        return []
    readings = list(read_ibi(match["label"]))
    # The resolver's own repositories are addressed without any prefix: their label is the address itself.
    return readings or [Reading(Rank.NAMED, read_repository(host.removeprefix("www.") + path))]


def _as_it_stands(text: str, core: str, others: list[Reading]) -> Iterable[Reading]:
    """A handle may well end in the full stop, or the bracket, that was taken for the sentence's."""
    exact = strip_blanks(text)
    if exact == core or not exact.startswith(core) or "://" in exact:
        return []
    rank = Rank.FAINT if any(reading.recognition.valid for reading in others) else Rank.NAMED
    return [Reading(rank, recognition) for _, recognition in read_handle(exact) if recognition.valid]


def _unknown(core: str) -> Recognition:
    for foreign, what in _FOREIGN.items():
        if handle.fold(core).startswith(foreign):
            return invalid(UNKNOWN, "other scheme", f"this looks like {what}, which is none of the schemes known here")
    if _ADDRESS.match(core):
        return invalid(UNKNOWN, "address", "this is a web address, but not of a resolver or registry known here")
    if "/" in core:
        try:
            handle.parse(core)
        except InvalidName as problem:
            return invalid(UNKNOWN, problem.part, f"this is no handle: {problem.reason}")
    return invalid(
        UNKNOWN,
        "form",
        "this is none of the forms known here: a handle has a slash, a person identifier begins with POID- or PRID-",
    )
