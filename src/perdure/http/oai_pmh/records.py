"""Records and their headers (section 2.5)."""

from perdure.http.app_context import AppContext
from perdure.http.oai_pmh.dublin_core import write_dublin_core
from perdure.http.oai_pmh.record_identifier import identifier_of
from perdure.http.oai_pmh.record_sets import sets_of
from perdure.http.oai_pmh.xml_text import element, enclose
from perdure.http.shared.request import Request
from perdure.http.urls import absolute_url, citation_url, path_of
from perdure.registry.harvest import HarvestedIdentifier


def write_header(app: AppContext, request: Request, found: HarvestedIdentifier) -> str:
    """Return the header of a record; of a deleted one, this is all."""
    body = element("identifier", identifier_of(request, found.view.name)) + element("datestamp", found.date)
    body += "".join(element("setSpec", spec) for spec in sets_of(found))
    return enclose("header", body, status="deleted" if found.is_deleted else None)


def write_record(app: AppContext, request: Request, found: HarvestedIdentifier) -> str:
    """Return a record."""
    header = write_header(app, request, found)
    if found.is_deleted:
        return enclose("record", header)
    view = found.view
    first = view.names[0] if view.names else view.name
    url = citation_url(app, request.origin, first, view.scheme) or absolute_url(request.origin, path_of(first))
    return enclose("record", header + enclose("metadata", write_dublin_core(found, url)))
