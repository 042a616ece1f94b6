"""Citations of identifiers: what their public records state about the things that they name."""

import re
from typing import Final

from perdure.errors import InvalidName
from perdure.formats.citation_fields import Citation, read_authors
from perdure.names import handle, ibi
from perdure.records.record import About
from perdure.registry.identifier_view import View
from perdure.registry.persons.person_search import names_of_person

_CITATION_KEY: Final = "URLIB.CITATIONKEY"
_DOI: Final = "DOI"
_KEY: Final = re.compile(r"[A-Za-z0-9:./+@!*;|_-]{1,200}")


def cite_identifier(view: View, url: str) -> Citation:
    """Return the citation of an identifier by this address. It contains nothing that the view does not."""
    about = view.about or About()
    names = (view.name, *(name for name in view.names if name != view.name))
    repository_name, opaque_name = _label_pair(names) if view.scheme == "ibi" else (None, None)
    key = _first_text(view, _CITATION_KEY)
    person = next(names_of_person(view), None)
    return Citation(
        name=view.name,
        url=url,
        title=about.what or person or view.name,
        key=key if key is not None and _KEY.fullmatch(key) else view.name,
        authors=read_authors(about.who),
        published=about.when,
        publisher=about.where or _holding_archive(view),
        target=view.target,
        doi=view.name if _is_doi(view) else _first_text(view, _DOI),
        handle=handle.escape(view.name) if view.scheme == "handle" else None,
        repository_name=repository_name,
        opaque_name=opaque_name,
        note=_describe_state(view),
    )


def _is_doi(view: View) -> bool:
    return view.scheme == "handle" and handle.is_doi(view.name)


def _first_text(view: View, kind: str) -> str | None:
    return next((value.text for value in view.values if value.kind == kind and value.text), None)


def _label_pair(names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return the first repository name and the first opaque label among the names of an IBI."""
    repository_name = next((name for name in names if name.count("/") == 3), None)
    return repository_name, next((name for name in names if name.count("/") == 1 and _is_label(name)), None)


def _is_label(name: str) -> bool:
    try:
        ibi.parse_any(name)
    except InvalidName:
        return False
    return True


def _holding_archive(view: View) -> str | None:
    return None if view.observation is None else view.observation.holding_archive


def _describe_state(view: View) -> str:
    """Return who is responsible for the identifier and since when; for a withdrawn one also why it was withdrawn."""
    authority = view.authority
    created = "" if authority.created is None else f" on {authority.created[:10]}"
    text = f"Identifier {view.name}, created{created} by {authority.creator}"
    stone = view.tombstone
    if stone is None:
        return text
    replacement = "" if stone.replaced_by is None else f"; replaced by {stone.replaced_by}"
    return f"{text}; {view.state}: {stone.reason}{replacement}"
