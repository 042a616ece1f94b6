"""The description of the repository (section 4.2)."""

import re
from typing import Final

from perdure.http.app_context import AppContext
from perdure.http.oai_pmh.record_identifier import has_domain, identifier_of, repository_host
from perdure.http.oai_pmh.xml_text import element, enclose
from perdure.http.shared.request import Request
from perdure.registry.harvest import earliest_date

_EMAIL: Final = re.compile(r"(?:mailto:)?(?P<address>[^\s@:]+@[^\s@]+\.[^\s@]+)", re.IGNORECASE)
_IDENTIFIERS: Final = "http://www.openarchives.org/OAI/2.0/oai-identifier"


async def write_identify(app: AppContext, request: Request) -> str:
    """Return the name of the repository, its address, its first date, and how it treats deleted records."""
    host = repository_host(request)
    parts = [
        element("repositoryName", app.options.repository_name or host),
        element("baseURL", f"{request.origin}{request.path}"),
        element("protocolVersion", "2.0"),
        element("adminEmail", _admin_email(app, host)),
        element("earliestDatestamp", await earliest_date(app.registry)),
        element("deletedRecord", "persistent"),
        element("granularity", "YYYY-MM-DDThh:mm:ssZ"),
    ]
    if has_domain(host):
        parts.append(enclose("description", _describe_identifiers(request, host)))
    return "".join(parts)


def _admin_email(app: AppContext, host: str) -> str:
    """Return the address of the contact, or the usual one of the host (RFC 2142)."""
    contact = _EMAIL.fullmatch(app.options.contact.strip())
    return (
        f"postmaster@{host if has_domain(host) else 'localhost.localdomain'}" if contact is None else contact["address"]
    )


def _describe_identifiers(request: Request, host: str) -> str:
    body = (
        element("scheme", "oai")
        + element("repositoryIdentifier", host)
        + element("delimiter", ":")
        + element("sampleIdentifier", identifier_of(request, "12345/thesis"))
    )
    return enclose(
        "oai-identifier",
        body,
        **{
            "xmlns": _IDENTIFIERS,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": f"{_IDENTIFIERS} {_IDENTIFIERS}.xsd",
        },
    )
