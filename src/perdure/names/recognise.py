"""Recognition of identifiers pasted in any usual form: their scheme, validity and decoded parts."""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote

from perdure.errors import InvalidInput, InvalidName
from perdure.names import external, handle, upn, urlib_address
from perdure.names.recognition_result import UNKNOWN, Details, Recognition, invalid_recognition, recognition_of_error
from perdure.names.resolver_address import ResolverAddress, find_name, strip_handle_path
from perdure.names.scheme_readers import (
    BARE_READERS,
    Candidate,
    Rank,
    handle_recognition,
    label_recognition,
    person_recognition,
    read_external,
    read_handle,
    read_ibi,
    read_pilin,
    read_ppid,
)
from perdure.names.unwrap import strip_blanks, unwrap

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
_LINK_PATH: Final = re.compile(r"/(?P<link>upn:[A-Za-z0-9]+-?:.+)", re.IGNORECASE)
_HANDLE_API: Final = re.compile(r"(?P<proxy>https?://hdl\.handle\.net/)api/handles/", re.IGNORECASE)
_REPOSITORY_SOFTWARE: Final = re.compile(r"/handle/(?P<name>[0-9][^/]*/[^?#]+)")
_PERSON_PATH: Final = re.compile(r"/(?P<name>p[or]id-[^/.]*)(?:[/.].*)?$", re.IGNORECASE)
_LABEL_PATH: Final = re.compile(r"/(?:(?:rep|ibi)/)?(?P<label>.+)")
_URI: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,30}):", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(?P<scheme>isbn|issn)(?:-1[03])?[\s:]{0,3}[0-9][0-9 -]{6,16}[0-9X]$", re.IGNORECASE)
_ARK_ADDRESS: Final = re.compile(r"https?://[^/]+/ark:", re.IGNORECASE)
_OTHER_SCHEMES: Final = {
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


def recognise(text: str, resolvers: Sequence[ResolverAddress] = ()) -> Recognition:
    """Return the most likely interpretation of a text, with the others as its alternatives. No text raises an error.

    The web addresses of `resolvers` are understood as those of well-known resolvers are.

    >>> found = recognise(" <HTTPS://HDL.HANDLE.NET/102.100.272/Y35XYS0QH>. ")
    >>> found.scheme, found.canonical, found.details["instant"]
    ('pilin', '102.100.272/Y35XYS0QH', '2007-05-25T03:49:52.865Z')
    >>> [other.scheme for other in recognise("8JMKD3MGP8W/34PGRBS").alternatives]
    ['handle']
    """
    if not isinstance(text, str):
        raise InvalidInput("recognise", "text", f"only text can be recognised, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        return invalid_recognition(
            UNKNOWN, "length", f"the text has more than {MAX_TEXT} characters, which is too long for an identifier"
        )
    core = unwrap(text)
    if not core:
        return invalid_recognition(UNKNOWN, "empty", "the text is empty")
    candidates = list(_find_candidates(core, resolvers))
    return _choose_best([*candidates, *_unstripped_candidates(text, core, candidates)]) or _unknown_recognition(core)


def _choose_best(candidates: Iterable[Candidate]) -> Recognition | None:
    ranked: list[Recognition] = []
    for _, recognition in sorted(candidates, key=lambda candidate: candidate.rank):
        if recognition not in ranked:
            ranked.append(recognition)
    return ranked[0].with_alternatives(tuple(ranked[1:])) if ranked else None


def _find_candidates(core: str, resolvers: Sequence[ResolverAddress]) -> Iterable[Candidate]:
    scheme = external.find_scheme(core)
    if scheme:
        return [Candidate(Rank.NAMED, read_external(scheme, core))]
    if upn.is_link(core):
        return [Candidate(Rank.NAMED, _link_recognition(core))]
    handle_label = _HANDLE_LABEL.match(core)
    if handle_label:  # spaces may follow it, and the word may be written out
        is_uri = handle_label[0].lower().startswith("info:")
        return _handle_candidates(core if is_uri else f"hdl:{core[handle_label.end() :]}")
    label = _PERSON_LABEL.match(core)
    if label:
        return [Candidate(Rank.NAMED, person_recognition(core[label.end() :]))]
    label = _IBI_LABEL.match(core)
    if label:
        return [Candidate(Rank.NAMED, label_recognition(core[label.end() :]))]
    embedded = _EMBEDDED.search(core)
    if embedded and embedded[0] != core:  # in the middle of a sentence
        return _find_candidates(unwrap(embedded[0]), resolvers)
    address = _ADDRESS.match(core)
    if address:
        return _address_candidates(core, address, resolvers)
    other = _find_other_scheme(core)
    if other and not _is_at_resolver(core, resolvers):  # a host and a port look like a scheme
        # By its grammar it may also be a handle.
        return [other, *(Candidate(Rank.FAINT, recognition) for _, recognition in read_handle(core))]
    if "/" not in core and "%2f" in core.lower():  # copied out of an address, with the slash encoded
        core = unquote(core)
    candidates = [candidate for reader in BARE_READERS for candidate in reader(core)]
    is_address = _KNOWN_HOST.match(core) is not None or _is_at_resolver(core, resolvers)
    if is_address and not any(candidate.rank is Rank.UNMISTAKABLE for candidate in candidates):
        return [*_find_candidates(f"https://{core}", resolvers), *candidates]
    return candidates


def _is_at_resolver(core: str, resolvers: Sequence[ResolverAddress]) -> bool:
    """Return whether the text is the address of a name at one of these resolvers, without its protocol."""
    try:
        return find_name(f"https://{core}", resolvers) is not None
    except InvalidName:
        return False


def _link_recognition(text: str) -> Recognition:
    """Recognise a link as the label that it contains."""
    try:
        link = upn.parse(text)
    except InvalidName as problem:
        return recognition_of_error(problem)
    file = {"file": link.path} if link.path else {}
    return _with_details(label_recognition(link.label), {"resolver_id": link.resolver_id} | file)


def _with_details(found: Recognition, more: dict[str, str]) -> Recognition:
    return Recognition(found.scheme, found.canonical, found.valid, found.reason, Details(found.details | more))


def _handle_candidates(address: str) -> Iterable[Candidate]:
    try:
        name = handle.parse(address)
    except InvalidName as problem:
        return [Candidate(Rank.NAMED, recognition_of_error(problem))]
    bare = str(name)
    pilin = [Candidate(Rank.NAMED, r) if rank <= Rank.LIKELY else Candidate(rank, r) for rank, r in read_pilin(bare)]
    return [*pilin, Candidate(Rank.NAMED, handle_recognition(name)), *read_ibi(bare)]


def _address_candidates(core: str, address: re.Match[str], resolvers: Sequence[ResolverAddress]) -> Iterable[Candidate]:
    host, path = handle.fold(address["host"]).partition(":")[0], address["path"] or "/"
    if handle.is_proxy_address(core):
        return _handle_candidates(_HANDLE_API.sub(lambda match: match["proxy"], core))
    try:
        own = find_name(core, resolvers)
        path = handle.unescape(path)
    except InvalidName:
        return []
    if own:
        return _find_candidates(strip_handle_path(own) or own, ())
    link = _LINK_PATH.search(path)
    if link:
        return [Candidate(Rank.NAMED, _link_recognition(link["link"]))]
    at_archive = urlib_address.read_url(core)
    if at_archive:
        file = {"file": at_archive.file} if at_archive.file else {}
        return [Candidate(Rank.NAMED, _with_details(label_recognition(at_archive.label), file))]
    person = _PERSON_PATH.search(path)
    if person:
        return read_ppid(person["name"])
    if host.removeprefix("www.") == "urlib.net" or (host.endswith(".inpe.br") and path.startswith(("/rep/", "/ibi/"))):
        return _ibi_address_candidates(host, path)
    deposited = _REPOSITORY_SOFTWARE.search(path)
    if deposited:
        return read_handle(deposited["name"])
    if _ARK_ADDRESS.match(core):
        return [_other_scheme_candidate("ark")]
    forwarded = _FORWARDED.match(core)  # for example a library's login page that redirects to this address
    return _find_candidates(_decode_address(forwarded["address"]), resolvers) if forwarded else []


def _decode_address(address: str) -> str:
    return unquote(address) if "%3a%2f%2f" in address[:16].lower() else address


def _ibi_address_candidates(host: str, path: str) -> Iterable[Candidate]:
    match = _LABEL_PATH.fullmatch(path)
    if match is None:
        return []
    # The resolver's own repositories are addressed without a prefix: the address itself is the label.
    own = label_recognition(f"{host.removeprefix('www.')}{path}")
    return [Candidate(Rank.NAMED, own if own.valid else label_recognition(match["label"]))]


def _find_other_scheme(core: str) -> Candidate | None:
    found = _URI.match(core) or _NUMBERED.match(core)
    return _other_scheme_candidate(found["scheme"].lower()) if found else None


def _other_scheme_candidate(scheme: str) -> Candidate:
    what = _OTHER_SCHEMES.get(scheme, f"a URI of the scheme {scheme!r}")
    reason = f"this looks like {what}, which is not one of the supported schemes"
    return Candidate(Rank.NAMED, invalid_recognition(UNKNOWN, "other scheme", reason))


def _unstripped_candidates(text: str, core: str, others: list[Candidate]) -> Iterable[Candidate]:
    """Return handles that end in the full stop or bracket that was removed as punctuation."""
    exact = strip_blanks(text)
    if exact == core or not exact.startswith(core) or "://" in exact:
        return []
    rank = Rank.FAINT if any(candidate.recognition.valid for candidate in others) else Rank.NAMED
    return [Candidate(rank, recognition) for _, recognition in read_handle(exact) if recognition.valid]


def _unknown_recognition(core: str) -> Recognition:
    if _ADDRESS.match(core):
        return invalid_recognition(UNKNOWN, "address", "this is a web address, but not of a known resolver or registry")
    if "/" in core:
        try:
            handle.parse(core)
        except InvalidName as problem:
            return invalid_recognition(UNKNOWN, problem.part, f"this is not a handle: {problem.reason}")
    return invalid_recognition(
        UNKNOWN,
        "not recognised",
        "unsupported form: a handle contains a slash, a person identifier begins with POID- or PRID-",
    )
