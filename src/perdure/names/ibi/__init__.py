"""Internet Based Identifiers (IBI): labels made from the address of a server and an instant.

Specification: "System for IBI generation", http://urlib.net/8JMKD3MGP8W/3JUK862

One item and one instant have two labels: the readable **repository name**, from a host, a port and a date, and the
opaque **IBIp**, from an IP address, a port and the same date. Neither can be computed from the other.

>>> str(repository_name("mtc-m18.sid.inpe.br", 80, 1234806360))
'sid.inpe.br/mtc-m18/2009/02.16.17.46'
>>> str(opaque_name("150.163.34.243", 800, 1234806360))
'8JMKD3MGP8W/34PGRBS'
>>> name = parse("8JMKD3MGP8W/34PGRBS")
>>> name.ip, name.port, int(name.date)
('150.163.34.243', 800, 1234806360)
>>> canonical("SID.inpe.br/mtc-m18@80/2009/02.16.17.46"), is_valid("8JMKD3MGP8W/34PGRBS-RPQ")
('sid.inpe.br/mtc-m18@80/2009/02.16.17.46', False)
"""

from perdure.errors import InvalidInput, InvalidName
from perdure.names.ibi.citation import split_document_type
from perdure.names.ibi.decoding_steps import decoding_steps
from perdure.names.ibi.distributor import GRANULARITIES, next_date
from perdure.names.ibi.distributor_steps import trace_next_date, trace_requests
from perdure.names.ibi.label import MAX_LABEL, check_text
from perdure.names.ibi.label_and_path import split_label_path
from perdure.names.ibi.legacy import LegacyName, parse_legacy
from perdure.names.ibi.opaque import (
    OpaqueName,
    opaque_name,
    opaque_prefix,
    opaque_suffix,
    parse_opaque,
)
from perdure.names.ibi.repository import (
    RepositoryName,
    parse_repository,
    repository_name,
    repository_prefix,
    repository_suffix,
)
from perdure.names.ibi.spellings import other_spellings

__all__ = [
    "GRANULARITIES",
    "MAX_LABEL",
    "LegacyName",
    "OpaqueName",
    "RepositoryName",
    "canonical",
    "decoding_steps",
    "is_valid",
    "next_date",
    "opaque_name",
    "opaque_prefix",
    "opaque_suffix",
    "other_spellings",
    "parse",
    "parse_any",
    "parse_legacy",
    "parse_opaque",
    "parse_repository",
    "repository_name",
    "repository_prefix",
    "repository_suffix",
    "split_document_type",
    "split_label_path",
    "trace_next_date",
    "trace_requests",
]


def parse(label: str) -> RepositoryName | OpaqueName:
    """Parse a label by the grammar of the standard (Tables 6.1 and 7.1), and check its date and address.

    The algorithms would write some valid labels differently (`@80`, `.00` seconds, an upper-case host). Of such a
    label, `str()` returns the text that was parsed, `is_canonical` is false, and `canonical` is what the algorithms
    write.
    """
    check_text(label)
    slashes = label.count("/")
    if slashes == 3:
        return parse_repository(label)
    if slashes == 1:
        return parse_opaque(label)
    raise InvalidName(
        "ibi", "label", None, f"a label has one slash (IBIp) or three (repository name), this has {slashes}"
    )


def parse_any(label: str) -> RepositoryName | OpaqueName | LegacyName:
    """Parse a label of any form, also of the old one in base 53.

    >>> parse_any("APM77Z/KFQ6T").prefix, parse_any("SID.inpe.br/mtc-m18@80/2009/02.16.17.46").prefix
    ('APM77Z', 'sid.inpe.br/mtc-m18')
    """
    try:
        return parse(label)
    except InvalidName:
        try:
            return parse_legacy(label)
        except InvalidName:
            pass
        raise


def canonical(label: str) -> str:
    """Return a label in its canonical case: lower for a repository name, upper for an IBIp.

    Labels are compared by case folding only, so nothing else is changed: `mtc-m18@80` and `mtc-m18` are different
    names. Raise InvalidName as `parse` does.
    """
    return parse(label).canonical_spelling


def is_valid(label: str) -> bool:
    """Return whether `parse` accepts the label."""
    try:
        parse(label)
    except (InvalidName, InvalidInput):
        return False
    return True
