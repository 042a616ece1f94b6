"""Internet Based Identifiers: labels made from where and when.

One item and one instant have two labels: the readable **repository name**, from a host, a port and a date, and the
opaque **IBIp**, from an IP address, a port and the same date. Neither can be computed from the other.

>>> str(repository_name("mtc-m18.sid.inpe.br", 80, 1234806360))
'sid.inpe.br/mtc-m18/2009/02.16.17.46'
>>> str(opaque_name("150.163.34.243", 800, 1234806360))
'8JMKD3MGP8W/34PGRBS'
>>> name = parse("8JMKD3MGP8W/34PGRBS")
>>> name.ip, name.port, int(name.date)
('150.163.34.243', 800, 1234806360)
"""

from perdure.errors import InvalidName
from perdure.names.ibi.citation import split_document_type
from perdure.names.ibi.distributor import GRANULARITIES, next_date
from perdure.names.ibi.label import MAX_LABEL, check_text
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

__all__ = [
    "GRANULARITIES",
    "MAX_LABEL",
    "LegacyName",
    "OpaqueName",
    "RepositoryName",
    "next_date",
    "opaque_name",
    "opaque_prefix",
    "opaque_suffix",
    "parse",
    "parse_legacy",
    "parse_opaque",
    "parse_repository",
    "repository_name",
    "repository_prefix",
    "repository_suffix",
    "split_document_type",
]


def parse(label: str) -> RepositoryName | OpaqueName:
    """Read a label by the grammar of the standard (Tables 6.1 and 7.1), dates and addresses checked.

    A label that the algorithms would write in another way (`@80`, `.00` seconds, an upper-case host) is read as it
    stands: `str()` gives it back, `is_canonical` is false, `canonical` is what the algorithms write.
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
