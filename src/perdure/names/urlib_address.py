"""Addresses of items at the archives of URLib, which have been cited since 1995.

>>> read_path("rep/8JMKD3MGP8W/34PGRBS", "ibiurl.language=pt-BR")
UrlibAddress(label='8JMKD3MGP8W/34PGRBS', file='', choice='', language='pt-BR')
>>> read_path("col/sid.inpe.br/mtc-m18@80/2009/02.16.17.46/doc/publication.pdf").file
'publication.pdf'
>>> name = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46.30"
>>> read_path("col/x/doc/mirrorget.cgi", f"metadatarepository={name}&choice=fullXML").choice
'fullxml'
>>> read_path("20.500/rep/34PGRBS") is None
True
"""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from perdure.names.ibi import split_label_path

_MOST_PARAMETERS: Final = 64
_LONGEST: Final = 4096  # characters of a query
_SCRIPT: Final = re.compile(
    r"(?:.*/)?(?P<script>archive|attachment|displaydoccontent|mirror|mirrorget)\.cgi(?:/(?P<rest>.*))?", re.DOTALL
)
_ROOT: Final = re.compile(r"(?:rep|ibi|col)/(?P<rest>.+)", re.DOTALL)
_ADDRESS: Final = re.compile(r"https?://[^/?#\s]+/(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}")
_HOME_PAGE: Final = "thisInformationItemHomePage.html"
_RECORD_FILE: Final = ".reserved/@"  # the item's own record, in BibTeX
_DOCUMENT: Final = "doc/"


class UrlibAddress(NamedTuple):
    """An item and what is requested of it: a file, or its record in the format that `choice` names in lower case."""

    label: str
    file: str = ""
    choice: str = ""
    language: str = ""


def read_path(path: str, query: str = "") -> UrlibAddress | None:
    """Return what a path without its first slash, decoded, and an undecoded query request; None for other paths."""
    script, root = _SCRIPT.fullmatch(path), _ROOT.fullmatch(path)
    if script is None and root is None:
        return None
    parameters = _read_query(query)
    choice = parameters.get("choice", "").lower()
    if script is not None and script["script"].startswith("mirror"):
        rest = parameters.get("metadatarepository", "")
    elif script is not None:
        rest, choice = (script["rest"] or "").partition("/goto/")[0], ""
    else:
        assert root is not None  # noqa: S101  (one of the two matches)
        rest, choice = root["rest"], ""
    found = split_label_path(rest.rstrip("/"))
    if found is None:
        return None
    label, file = found[0], found[1].removeprefix(_DOCUMENT)
    if file == _RECORD_FILE:
        file, choice = "", "bibtex"
    language = parameters.get("ibiurl.language") or parameters.get("languagebutton") or ""
    return UrlibAddress(
        label,
        "" if file in (_HOME_PAGE, "doc") else file,
        choice,
        language if _LANGUAGE.fullmatch(language) else "",
    )


def read_url(url: str) -> UrlibAddress | None:
    """Return what an address at any host requests; None if it is not one of an archive of URLib."""
    match = _ADDRESS.fullmatch(url)
    return None if match is None else read_path(unquote(match["path"]), match["query"] or "")


def _read_query(query: str) -> dict[str, str]:
    """Return the parameters of a query. Those of a query that is too long are ignored."""
    if len(query) > _LONGEST:
        return {}
    try:
        return dict(parse_qsl(query, max_num_fields=_MOST_PARAMETERS))
    except ValueError:
        return {}
