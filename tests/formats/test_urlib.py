"""The exports of URLib: full XML and BibTeX."""

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.urlib_samples import BIBTEX, ITEM, LEGACY, METADATA, THESIS, XML

from perdure.errors import InvalidInput
from perdure.formats import bibtex, urlib_xml
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.formats.latex_text import to_plain_address, to_plain_text
from perdure.formats.urlib_record import UrlibRecord, read_patterns, to_entries
from perdure.records.record import About

SITE_ADDRESS = f"http://mtc-m16c.sid.inpe.br/col/{ITEM}/doc/publica%C3%A7%C3%A3o%20final.pdf"


def read_xml(text: str | bytes, encoding: str | None = None, size: int = 1 << 20) -> list[UrlibRecord | RejectedLine]:
    content = text.encode("latin-1") if isinstance(text, str) else text
    return list(urlib_xml.read_records((content[at : at + size] for at in range(0, len(content), size)), encoding))


def read_bibtex(text: str) -> list[UrlibRecord | RejectedLine]:
    return list(bibtex.read_records(enumerate(text.splitlines(keepends=True), 1)))


def entries_of(records: Iterable[UrlibRecord | RejectedLine], *patterns: str) -> Iterator[Entry]:
    for one in records:
        if isinstance(one, UrlibRecord):
            yield from to_entries(one, read_patterns(patterns))


def record_of(**fields: str) -> UrlibRecord:
    return UrlibRecord(1, {field: [text] for field, text in fields.items()})


def put_of(*patterns: str, **fields: str) -> ImportPut:
    put = next(to_entries(record_of(**fields), read_patterns(patterns)))
    assert isinstance(put, ImportPut)
    return put


# XML


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_record_in_xml_has_its_names_its_address_and_its_provenance(size: int) -> None:
    item, thesis = entries_of(read_xml(XML, size=size))
    assert isinstance(item, ImportPut)
    assert isinstance(thesis, ImportPut)
    assert (item.line, item.names) == (3, (ITEM, LEGACY, METADATA))
    assert item.about == About("Banon, Gerald Jean Francis; José & Irmãos", "Introdução à morfologia", "1999")
    assert [(one.index, one.type, one.text, one.timestamp) for one in item.values] == [
        (1, "URL", SITE_ADDRESS, "2017-04-09T14:30:33Z"),
        (2, "URLIB.HOLDERCODE", "{isadg {BR SPINPE} ibi 8JMKD3MGPCW/3DT298S}", "2017-04-09T14:30:33Z"),
        (
            3,
            "URLIB.LASTUPDATE",
            "2017:04.09.14.30.33 sid.inpe.br/mtc-m18@80/2008/03.17.15.17 marciana",
            "2017-04-09T14:30:33Z",
        ),
        (
            4,
            "URLIB.METADATALASTUPDATE",
            "2018:06.05.01.22.10 sid.inpe.br/mtc-m18@80/2008/03.17.15.17 admin {D 1999}",
            "2018-06-05T01:22:10Z",
        ),
        (5, "URLIB.CITATIONKEY", "Banon:1999:InMo", "2017-04-09T14:30:33Z"),
    ]
    assert (thesis.name, thesis.values[0].text) == (THESIS, "http://example.org/thesis 1")


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "windows-1252", None])
def test_the_declared_encoding_counts_unless_another_one_is_chosen(encoding: str | None) -> None:
    declared = "" if encoding is None else f' encoding="{encoding}"'
    text = f'<?xml version="1.0"{declared}?><metadatalist><metadata><title>ação</title></metadata></metadatalist>'
    (record,) = read_xml(text.encode(encoding or "utf-8"))
    assert isinstance(record, UrlibRecord)
    assert record.first("title") == "ação"
    (chosen,) = read_xml(text.encode("utf-8"), "utf-8")
    assert chosen == record
    assert urlib_xml.declared_encoding(text.encode()) == encoding


def test_quotation_marks_of_windows_in_a_file_in_latin_1_stay_quotation_marks() -> None:
    content = XML.encode("latin-1").replace(b"<title>A thesis", b"<title>\x93A\x94 thesis \x96 &#147;B&#148;")
    titles = [one.fields["title"] for one in read_xml(content) if isinstance(one, UrlibRecord)]
    assert titles[1] == ["“A” thesis – “B”"]


@pytest.mark.parametrize(
    "start",
    [
        '<!DOCTYPE metadatalist SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE a [<!ENTITY x "yyyyyyyy"><!ENTITY z "&x;&x;&x;">]>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_a_document_type_is_refused_before_its_entities_are_read(start: str) -> None:
    with pytest.raises(InvalidInput, match="document type"):
        read_xml(f"{start}<metadatalist><metadata><title>&x;</title></metadata></metadatalist>")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<a>" * 20, "nested too deeply"),
        ("<metadatalist></metadatalist>", "no element <metadata>"),
        ("<metadatalist><metadata", "not XML that can be read"),
        ("<metadatalist><x " + "a" * (1 << 23), "too long"),
        ("<metadatalist><metadata><title>\xe9</title>", "--encoding latin-1"),
    ],
)
def test_xml_that_is_too_deep_too_long_or_something_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        read_xml(text)


BROKEN = {
    "an ampersand": ("<title>A thesis</title>", "<title>A & B</title>", 28),
    "an unknown entity": ("<title>A thesis</title>", "<title>A&nbsp;thesis</title>", 28),
    "a wrong end": ("<title>A thesis</title>", "<title>A thesis</titel>", 28),
    "an attribute": ('<metadata ReferenceType="Thesis">', "<metadata ReferenceType=Thesis>", 22),
}


@pytest.mark.parametrize("size", [1 << 20, 7])
@pytest.mark.parametrize(("right", "wrong", "line"), BROKEN.values(), ids=BROKEN)
def test_a_record_with_an_error_of_syntax_is_refused_and_all_others_are_read(
    right: str, wrong: str, line: int, size: int
) -> None:
    assert right in XML
    body = XML.removesuffix("</metadatalist>\n")
    more = body[body.index("<metadata ReferenceType") :]  # the same two records once more
    assert body.count("\n") == 30
    text = body.replace(right, wrong) + more.replace("banon/1999", "banon/2000") + "</metadatalist>\n"
    first, error, second, thesis = read_xml(text, size=size)
    assert isinstance(error, RejectedLine)
    assert error.line == line
    assert error.reason.startswith("the record cannot be read: ")
    assert "--encoding" not in error.reason, "the file declares its encoding"
    assert [one.line for one in (first, second, thesis)] == [3, 31, 50]
    assert isinstance(second, UrlibRecord)
    assert second.first("repository") == ITEM.replace("1999", "2000")
    assert second.first("title") == "Introdução à morfologia", "the encoding of the file stays in force"


def test_the_first_record_can_be_wrong_and_the_last_one_cut_off() -> None:
    wrong = XML.replace("<year>1999</year>", "<year>1999<year>").replace("</metadata>\n</metadatalist>\n", "")
    error, end = read_xml(wrong + "</metadata>\n<metadata>\n<title>cut o")[0::2]
    assert isinstance(error, RejectedLine)
    assert isinstance(end, RejectedLine)
    assert (error.line, end.line) == (21, 32)


@given(at=st.integers(0, len(XML) - 1), mark=st.sampled_from('<>&\x01"/'), size=st.integers(1, 400))
def test_wherever_an_error_is_the_complete_records_after_it_are_read(at: int, mark: str, size: int) -> None:
    good = f"<metadata><repository>{ITEM}</repository></metadata>\n<metadata><title>last</title></metadata>"
    at = max(at, XML.index("<metadata "))
    broken = XML[:at] + mark + XML[at:].replace("</metadatalist>\n", "") + good + "\n</metadatalist>"
    records = read_xml(broken, size=size)
    assert isinstance(records[-1], UrlibRecord)
    assert records[-1].first("title") == "last"


def test_a_record_with_an_endless_text_is_refused_and_the_next_one_is_read() -> None:
    long = XML.replace("Introdução", "x" * (1 << 21))
    refused, thesis = read_xml(long)
    assert isinstance(refused, RejectedLine)
    assert (refused.line, "longer than" in refused.reason) == (3, True)
    assert isinstance(thesis, UrlibRecord)


plain = st.text(
    st.characters(
        min_codepoint=0x20, max_codepoint=0x2FF, blacklist_characters="\x7f\xa0", blacklist_categories=("Cc",)
    ),
    min_size=1,
    max_size=30,
).map(lambda text: " ".join(text.split()))


@given(title=plain, authors=st.lists(plain, max_size=4))
def test_any_text_that_is_written_as_xml_is_read_again(title: str, authors: list[str]) -> None:
    people = "".join(f"<author>{escape(one)}</author>" for one in authors)
    text = f"<metadatalist><metadata><title>{escape(title)}</title>{people}</metadata></metadatalist>"
    (record,) = read_xml(text.encode(), size=11)
    assert isinstance(record, UrlibRecord)
    assert record.first("title") == (title or None)
    assert list(record.fields.get("author", ())) == authors


# BibTeX


def test_a_record_in_bibtex_has_the_same_names_and_text_without_latex() -> None:
    records = read_bibtex(BIBTEX)
    item, *others = entries_of(records)
    assert isinstance(item, ImportPut)
    assert (item.line, item.names) == (3, (ITEM, LEGACY, METADATA))
    assert item.about == About("Banon, Gerald Jean Francis; José da Conceição", "Introdução à morfologia", "1999")
    notice, no_label, good = others
    assert isinstance(notice, Notice)
    assert "urlib.net" in notice.reason
    assert isinstance(no_label, RejectedLine)
    assert no_label.line == 15
    assert isinstance(good, ImportPut)
    assert (good.name, good.values[0].text) == ("APM77Z/KFQ6T", "http://example.org/~banon")
    assert [(one.line, one.reason) for one in records if isinstance(one, RejectedLine)] == [
        (14, "the entry is not closed: a brace is missing")
    ]


def test_a_file_that_is_neither_form_is_refused() -> None:
    with pytest.raises(InvalidInput, match="neither"):
        read_bibtex("name,target\n12345/a,https://example.org/\n")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("@Book{a, ibi = {x}, title == {y}}", "title has no value"),
        ("@Book{a, ibi = {x} and more}", "cannot be read from"),
        ("@Book{a, ibi = {x}", "not closed"),
        ("@Book{a, title = {" + "x" * (1 << 21) + "}}", "longer than"),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused_alone(entry: str, reason: str) -> None:
    refused, good = read_bibtex(f"{entry}\n@Book{{b, title = {{Good}}}}\n")
    assert isinstance(refused, RejectedLine)
    assert reason in refused.reason
    assert isinstance(good, UrlibRecord)


def write_latex(text: str, form: int) -> str:
    """Write accents as different programs do."""
    forms = {
        "é": (r"\'e", r"\'{e}", r"{\'e}", r"{\'{e}}", "é"),
        "ã": (r"\~a", r"\~{a}", r"{\~a}", r"{\~{a}}", "ã"),
        "ç": (r"\c{c}", r"{\c c}", r"\c{c}", r"{\c{c}}", "ç"),
        "í": (r"\'{\i}", r"{\'\i}", r"\'i", r"{\'{\i}}", "í"),
        "ø": (r"{\o}", r"\o{}", r"{\o}", r"\o{}", "ø"),
        "&": (r"\&",) * 5,
        "_": (r"\_",) * 5,
        "–": ("{--}",) * 4 + ("–",),
    }
    return "".join(forms[one][form] if one in forms else one for one in text)


@given(
    words=st.lists(st.text("abcxyzéãçíø&_–:;,.()?!ABC012", min_size=1, max_size=9), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_text_that_is_written_as_bibtex_is_read_again(words: list[str], data: st.DataObject) -> None:
    title = " ".join(words)
    value = write_latex(title, data.draw(st.integers(0, 4)))
    opening, closing = data.draw(st.sampled_from(["{}", '""']))
    (record,) = read_bibtex(f"@Article{{key,\n  title = {opening}{value}{closing},\n  year = 2000}}\n")
    assert isinstance(record, UrlibRecord)
    assert (record.first("title"), record.first("year")) == (title, "2000")


@given(st.text(max_size=200))
def test_no_text_in_a_field_stops_the_reader(text: str) -> None:
    assert isinstance(to_plain_text(text), str)
    assert isinstance(to_plain_address(text), str)
    for one in read_bibtex(f"@Book{{a, title = {{{text}}}}}\n@Book{{b, title = {{Good}}}}\n"):
        assert isinstance(one, UrlibRecord | RejectedLine)


# Names and addresses


def test_labels_are_read_from_resolver_addresses_and_each_is_one_name() -> None:
    put = put_of(repository=ITEM, ibi=f"http://urlib.net/ibi/{LEGACY}", identifier=LEGACY, metadatarepository=ITEM)
    assert put.names == (ITEM, LEGACY)


def test_a_label_that_is_none_stays_as_a_value() -> None:
    put, notice, _ = to_entries(record_of(repository=ITEM, identifier="see the catalogue"))
    assert isinstance(put, ImportPut)
    assert [(one.index, one.type, one.text) for one in put.values] == [(8, "URLIB.IDENTIFIER", "see the catalogue")]
    assert isinstance(notice, Notice)
    assert "is not an IBI label" in notice.reason


@pytest.mark.parametrize(
    ("patterns", "fields", "expected"),
    [
        ((), {"url": "https://example.org/a"}, "https://example.org/a"),
        ((), {"url": f"http://urlib.net/{ITEM}"}, f"http://urlib.net/{ITEM}"),
        ((), {"url": f"http://urlib.net/rep/{ITEM}?x=1", "site": "h.inpe.br 804", "targetfile": "a b.pdf"}, "site"),
        ((), {"site": "h.inpe.br 804", "targetfile": "a b.pdf"}, "site"),
        ((), {"site": "not a host!", "targetfile": "a.pdf"}, None),
        (("https://x.org/{repository}/{targetfile}",), {"targetfile": "a.pdf"}, f"https://x.org/{ITEM}/a.pdf"),
        (("https://x.org/{targetfile}",), {"url": "https://example.org/a"}, "https://example.org/a"),
    ],
)
def test_the_address_is_that_of_the_pattern_or_the_stated_one_or_that_of_the_file(
    patterns: tuple[str, ...], fields: dict[str, str], expected: str | None
) -> None:
    values = put_of(*patterns, repository=ITEM, **fields).values
    found = next((one.text for one in values if one.type == "URL"), None)
    assert found == (f"http://h.inpe.br/col/{ITEM}/doc/a%20b.pdf" if expected == "site" else expected)


def test_a_date_that_does_not_exist_gives_no_time() -> None:
    put = put_of(repository=ITEM, url="https://example.org/", lastupdate="2017:02.30.14.30.33 x y")
    assert [one.timestamp for one in put.values] == ["", ""]


def test_two_patterns_are_refused() -> None:
    with pytest.raises(InvalidInput, match="one pattern"):
        read_patterns(["https://a.org/", "https://b.org/"])
