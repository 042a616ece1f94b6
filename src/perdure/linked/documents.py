"""The documents that we serve: of persons, and of every other identifier."""

from contextlib import suppress

from perdure.linked.authority import Withdrawal, authority, withdrawn
from perdure.linked.iris import iri as written_iri
from perdure.linked.namespaces import Namespaces
from perdure.linked.person import person_tree
from perdure.linked.terms import terms
from perdure.linked.writing import Tree, write
from perdure.names import handle
from perdure.records.web_address import outgoing_address
from perdure.registry.looking import View
from perdure.registry.persons import PersonView


def write_person(
    person: PersonView,
    format: str,
    namespaces: Namespaces,
    context_url: str,
    *,
    as_version: bool = False,
    withdrawal: Withdrawal | None = None,
) -> bytes:
    """The document of an observation or a reconstruction; `as_version`: of its newest version, as a version."""
    tree = person_tree(person, namespaces, as_version=as_version, withdrawal=withdrawal)
    return write(tree, format, terms(namespaces), context_url)


def write_identifier(
    view: View,
    iri: str,
    format: str,
    namespaces: Namespaces,
    context_url: str,
    withdrawal: Withdrawal | None = None,
) -> bytes:
    """What an identifier says of itself, where it leads, and what it stands for; or how it ended."""
    subject = written_iri(iri)
    home = _home(subject, view.name)
    tree = _identifier_tree(view, subject, namespaces, home)
    if withdrawal is not None:
        tree |= withdrawn(subject, withdrawal, namespaces, home)
    return write(tree, format, terms(namespaces), context_url)


def write_name(name: str, state: str, iri: str, format: str, namespaces: Namespaces, context_url: str) -> bytes:
    """Of a name of which nothing else may be said, or is: that it is there, and in which state."""
    tree: Tree = {"id": written_iri(iri), "identifier": name, "state": state}
    return write(tree, format, terms(namespaces), context_url)


def _home(subject: str, name: str) -> str:
    """Where the registry's names are found, this one among them; nowhere, if it is called otherwise."""
    home = subject.removesuffix(handle.escape(name))
    return "" if home == subject else home


def _identifier_tree(view: View, subject: str, namespaces: Namespaces, home: str) -> Tree:
    tree: Tree = {"id": subject, "identifier": list(dict.fromkeys((view.name, *view.names)))}
    if view.locations:  # then nobody is sent to the address beside them
        tree["url"] = [written_iri(outgoing_address(one)) for one in dict.fromkeys(view.locations)]
    elif view.target is not None:
        with suppress(ValueError):  # of a target that leads to no host, from before such targets were refused
            tree["url"] = written_iri(outgoing_address(view.target))
    tree |= authority(view, namespaces, home)
    about = view.about
    if about is not None:
        told = {field: said for field in about.__struct_fields__ if (said := getattr(about, field)) is not None}
        tree["about"] = {"id": f"{subject}#about", **told}  # of the thing; what stands above is of the identifier
    return tree
