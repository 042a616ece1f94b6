"""Other spellings of a label: the standard's own text and citations write one item in several ways.

They differ in the default port (`mtc-m18@80`, `mtc-m18`), in the separator of the port (`@`, `.`), in seconds that are
zero, and in the document type of a citation (`-RPQ`). Each spelling is a name of its own, so a registry looks up the
exact one first.
"""

from itertools import product

from perdure.errors import InvalidName
from perdure.names.handle import fold
from perdure.names.ibi import opaque, repository
from perdure.names.ibi.citation import split_document_type
from perdure.names.ibi.legacy import parse_legacy
from perdure.names.ibi.opaque import OpaqueName, parse_opaque
from perdure.names.ibi.repository import parse_repository


def other_spellings(label: str) -> tuple[tuple[str, ...], ...]:
    """Return groups of labels for the same item, the most likely first. A text that is not a label has none.

    With a document type: the label without it, its other spellings with the same type, and then without one.

    >>> other_spellings("sid.inpe.br/mtc-m18@80/2009/02.16.17.46-RPQ")[0]
    ('sid.inpe.br/mtc-m18@80/2009/02.16.17.46',)
    >>> "sid.inpe.br/mtc-m18/2009/02.16.17.46" in other_spellings("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")[0]
    True
    """
    bare, kind = split_document_type(label)
    try:
        others = _repository_spellings(bare) if bare.count("/") == 3 else _opaque_spellings(bare)
    except InvalidName:
        return ()
    written = fold(bare)
    variants = tuple(dict.fromkeys(other for other in others if other != written))
    cited = tuple(f"{other}-{kind}" for other in variants) if kind else ()
    return tuple(group for group in ((bare,) if kind else (), cited, variants) if group)


def _repository_spellings(bare: str) -> list[str]:
    name = parse_repository(bare)
    subdomain, _, year, time = name.key.split("/")
    word = name.host.partition(".")[0]
    ports = [f".{name.port}", f"@{name.port}"]
    if name.port == repository.DEFAULT_PORT:
        ports.insert(0, "")
    date = repository.repository_suffix(name.date)
    dates = dict.fromkeys([f"{year}/{time}", date])
    if date.count(".") == 3:  # month, day, hour and minute
        dates[f"{date}.00"] = None
    return [f"{subdomain}/{word}{port}/{when}" for when, port in product(dates, ports)]


def _opaque_spellings(bare: str) -> list[str]:
    try:
        name = parse_opaque(bare)
    except InvalidName:
        parse_legacy(bare)  # which has one spelling only
        return []
    return [f"{prefix}/{suffix}" for suffix, prefix in product(_opaque_suffixes(name), _opaque_prefixes(name))]


def _opaque_prefixes(name: OpaqueName) -> list[str]:
    prefix = opaque.opaque_prefix(name.ip, name.port)
    prefixes = [prefix]
    if name.port == opaque.DEFAULT_PORT:
        prefixes.append(prefix + opaque.BASE_27.write(name.port))
    return [fold(one) for one in prefixes]


def _opaque_suffixes(name: OpaqueName) -> list[str]:
    return list(dict.fromkeys([name.key.partition("/")[2], fold(opaque.opaque_suffix(name.date))]))
