r"""Citations as BibTeX entries, in UTF-8. What LaTeX would interpret is escaped.

>>> to_latex("50 % of {A_B} -- C:\\x")
'50 \\% of \\textbraceleft{}A\\_B\\textbraceright{} -{}- C:\\textbackslash{}x'
"""

import re
from collections.abc import Iterator
from typing import Final

from perdure.formats.citation_fields import Author, Citation, citation_key, clean_text

MEDIA_TYPE: Final = "application/x-bibtex"
_ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_"},
}
_MARKS: Final = re.compile(r"[\\{}~^&%$#_]|-(?=-)")
# Braces would end the field; a backslash would begin a command.
_VERBATIM: Final = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C", '"': "%22", " ": "%20"})
_AND: Final = re.compile(r"(?:^|\s)and(?:\s|$)", re.IGNORECASE)


def write_bibtex(citation: Citation) -> bytes:
    """Write a citation as an entry of the type `misc`."""
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in _fields(citation))
    return f"@misc{{{citation_key(citation.key)},\n{fields}}}\n".encode()


def to_latex(text: str) -> str:
    """Return a text as LaTeX prints it: its own marks escaped, and hyphens kept apart."""
    return _MARKS.sub(lambda match: _ESCAPES.get(match[0], "-{}"), clean_text(text))


def _fields(citation: Citation) -> Iterator[tuple[str, str]]:
    """Yield the fields. Addresses and labels are verbatim, as BibLaTeX and the package `url` expect them."""
    if citation.authors:
        yield "author", " and ".join(map(_write_author, citation.authors))
    yield "title", f"{{{to_latex(citation.title)}}}"  # the inner braces keep its capitals
    if citation.date is not None:
        yield "year", f"{citation.date[0]:04}"
        yield "date", "-".join(f"{part:0{4 if at == 0 else 2}}" for at, part in enumerate(citation.date))
    elif citation.published:
        yield "year", to_latex(citation.published)
    if citation.publisher:
        yield "publisher", to_latex(citation.publisher)
    yield "url", citation.url.translate(_VERBATIM)
    if citation.repository_name:
        yield "repository", citation.repository_name.translate(_VERBATIM)
    if citation.opaque_name:
        yield "ibi", citation.opaque_name.translate(_VERBATIM)
    if citation.doi:
        yield "doi", citation.doi.translate(_VERBATIM)
    if citation.handle:
        yield "eprinttype", "hdl"
        yield "eprint", citation.handle.translate(_VERBATIM)
    if citation.target:
        yield "target", citation.target.translate(_VERBATIM)
    for file in citation.files[:1]:
        yield "file", file.translate(_VERBATIM)
    if citation.note:
        yield "note", to_latex(citation.note)


def _write_author(author: Author) -> str:
    """Return a name. Braces keep together what BibTeX would take apart: a name without a comma, and the word `and`."""
    if author.given:
        return f"{_keep_together(author.family)}, {_keep_together(author.given)}"
    return f"{{{to_latex(author.family)}}}"


def _keep_together(text: str) -> str:
    return f"{{{to_latex(text)}}}" if _AND.search(text) else to_latex(text)
