"""The data provider of OAI-PMH: read by an independent client, and compared with the structure of the specification."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from lxml import etree
from sickle import Sickle
from sickle.oaiexceptions import IdDoesNotExist, NoRecordsMatch
from tests.http.hidden_persons import SECRET
from tests.http.live_server import LiveServer, run_server
from tests.http.oai_pmh.harvest_names import fill_harvest
from tests.http.resolvable_names import Names, resolvable_registry

SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("oai_pmh.xsd"))))
OAI = "{http://www.openarchives.org/OAI/2.0/}"
HOST = "id.example.org"


class Provider(NamedTuple):
    """A server with names in every state, and its names."""

    server: LiveServer
    client: httpx.Client
    names: Names
    hidden: list[str]

    @property
    def sickle(self) -> Sickle:
        return Sickle(f"{self.server.url}/oai", max_retries=0)

    def ask(self, **arguments: str) -> etree._Element:
        """Return the response to a request, after a check of its structure."""
        answer = self.client.get("/oai", params=arguments)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/xml; charset=utf-8"
        root = etree.fromstring(answer.content)
        SCHEMA.assertValid(root)
        return root

    def error(self, **arguments: str) -> str:
        found = self.ask(**arguments).find(f"{OAI}error")
        assert found is not None, arguments
        return str(found.get("code"))

    def page(self, **arguments: str) -> tuple[list[str], str]:
        """Return the identifiers of a page, and its token."""
        root = self.ask(**arguments)
        identifiers = [str(one.text) for one in root.iter(f"{OAI}identifier")]
        return identifiers, root.findtext(f"{OAI}{arguments['verb']}/{OAI}resumptionToken") or ""


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    folder = tmp_path_factory.mktemp("harvest") / "registry"
    settings = f'public_url = "https://{HOST}"\ncontact = "mailto:archive@example.org"\nrepository_name = "A & B"'
    with resolvable_registry(folder, "sqlite") as names:
        hidden = fill_harvest(folder)
        with run_server(folder, settings=settings) as server, server.client("") as client:
            yield Provider(server, client, names, hidden)


def identifier(name: str) -> str:
    return f"oai:{HOST}:{name}"


def test_the_repository_describes_itself(provider: Provider) -> None:
    found = provider.sickle.Identify()
    assert (found.repositoryName, found.adminEmail) == ("A & B", "archive@example.org")
    assert (found.deletedRecord, found.granularity) == ("persistent", "YYYY-MM-DDThh:mm:ssZ")
    assert found.baseURL == f"https://{HOST}/oai"
    provider.ask(verb="Identify")
    assert [one.metadataPrefix for one in provider.sickle.ListMetadataFormats()] == ["oai_dc"]
    provider.ask(verb="ListMetadataFormats", identifier=identifier("12345/told"))


def test_every_public_identifier_is_harvested_once(provider: Provider) -> None:
    headers = list(provider.sickle.ListIdentifiers(metadataPrefix="oai_dc"))
    harvested = [header.identifier for header in headers]
    assert len(harvested) == len(set(harvested)) > 100
    state = {header.identifier: header.deleted for header in headers}
    assert state[identifier("12345/told")] is False
    assert state[identifier(provider.names.label)] is False
    assert state[identifier(provider.names.person)] is False
    assert state[identifier("12345/gone")] is True
    assert state[identifier("12345/united")] is True
    assert identifier("12345/kept") not in state, "it is reserved"
    assert identifier(provider.names.opaque) not in state, "it is a second name"
    records = list(provider.sickle.ListRecords(metadataPrefix="oai_dc"))
    assert [one.header.identifier for one in records] == harvested
    assert all(hasattr(one, "metadata") is not one.deleted for one in records)


def test_pages_follow_each_other(provider: Provider) -> None:
    everything, token = provider.page(verb="ListRecords", metadataPrefix="oai_dc")
    assert len(everything) == 100
    while token:
        page, token = provider.page(verb="ListRecords", resumptionToken=token)
        everything += page
    assert everything == [one.identifier for one in provider.sickle.ListIdentifiers(metadataPrefix="oai_dc")]


def test_a_description_is_in_dublin_core(provider: Provider) -> None:
    told = provider.sickle.GetRecord(identifier=identifier("12345/told"), metadataPrefix="oai_dc").metadata
    assert told["title"] == ["Notes & sketches"]
    assert told["creator"] == ["Ada <Lovelace>"]
    assert told["date"] == ["1843"]
    assert told["identifier"] == [f"https://{HOST}/12345/told", "12345/told"]
    assert told["relation"] == ["https://example.org/plain"]
    pair = provider.sickle.GetRecord(identifier=identifier(provider.names.opaque), metadataPrefix="oai_dc")
    assert pair.metadata["identifier"][1:] == [provider.names.label, provider.names.opaque]
    listed = next(
        one for one in provider.sickle.ListIdentifiers(metadataPrefix="oai_dc") if one.identifier.endswith("/told")
    )
    one = provider.sickle.GetRecord(identifier=identifier("12345/told"), metadataPrefix="oai_dc")
    assert one.header.datestamp == listed.datestamp


def test_hidden_persons_have_only_the_header_of_a_deleted_record(provider: Provider) -> None:
    assert provider.hidden
    token = ""
    pages = []
    while not pages or token:
        query = {"resumptionToken": token} if token else {"metadataPrefix": "oai_dc"}
        text = provider.client.get("/oai", params={"verb": "ListRecords", **query}).text
        pages.append(text)
        token = etree.fromstring(text.encode()).findtext(f"{OAI}ListRecords/{OAI}resumptionToken") or ""
    assert SECRET not in "".join(pages)
    for name in provider.hidden:
        record = provider.sickle.GetRecord(identifier=identifier(name), metadataPrefix="oai_dc")
        assert record.deleted
        assert SECRET not in record.raw
    private = provider.client.get(
        "/oai", params={"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": identifier("12345/hidden")}
    )
    assert "example.org/hidden" not in private.text


def test_sets_are_schemes_and_prefixes(provider: Provider) -> None:
    sets = {one.setSpec for one in provider.sickle.ListSets()}
    assert {"handle", "handle:12345", "ibi", "ppid", "ppid:POID"} <= sets
    provider.ask(verb="ListSets")
    (label_set,) = [one for one in sets if one.startswith("ibi:")]
    for spec, beginning in (("handle:12345", "12345/"), (label_set, provider.names.label), ("ppid:PRID", "PRID-")):
        found = list(provider.sickle.ListIdentifiers(metadataPrefix="oai_dc", set=spec))
        assert found
        assert all(one.identifier.startswith(identifier(beginning)) for one in found)
        assert all(spec in one.setSpecs for one in found)
    both = {one.identifier for one in provider.sickle.ListIdentifiers(metadataPrefix="oai_dc", set="ppid")}
    assert len(both) == sum(
        len(list(provider.sickle.ListIdentifiers(metadataPrefix="oai_dc", set=f"ppid:{kind}")))
        for kind in ("POID", "PRID")
    )


def test_a_later_harvest_has_what_changed_since(provider: Provider) -> None:
    answer = provider.ask(verb="ListIdentifiers", metadataPrefix="oai_dc", set="handle:12347")
    since = str(answer.findtext(f"{OAI}responseDate"))
    provider.server.perdure("set", "12347/mixed", "https://example.org/changed")
    later, _ = provider.page(verb="ListIdentifiers", metadataPrefix="oai_dc", set="handle:12347", **{"from": since})
    assert later == [identifier("12347/MiXed")]
    with pytest.raises(NoRecordsMatch):
        provider.sickle.ListIdentifiers(metadataPrefix="oai_dc", **{"from": "2999-01-01"})
    for until in ("1999-12-31", "1999-12-31T23:59:59Z"):
        assert provider.error(verb="ListRecords", metadataPrefix="oai_dc", until=until) == "noRecordsMatch"
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 90))
    assert provider.page(verb="ListIdentifiers", metadataPrefix="oai_dc", **{"from": "1970-01-01", "until": day})[0]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("badVerb", {}),
        ("badVerb", {"verb": "Nothing"}),
        ("badVerb", {"verb": "identify"}),
        ("badArgument", {"verb": "Identify", "x": "1"}),
        ("badArgument", {"verb": "GetRecord", "metadataPrefix": "oai_dc"}),
        ("badArgument", {"verb": "ListRecords"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "yesterday"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2026-02-31"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2026-02-01T00:00:00.5Z"}),
        (
            "badArgument",
            {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2026-02-02", "until": "2026-02-01"},
        ),
        (
            "badArgument",
            {"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2026-02-02", "until": "2026-02-03T00:00:00Z"},
        ),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "nothing"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "handle:!ff!"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "resumptionToken": "x"}),
        ("noRecordsMatch", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "handle:99999"}),
        ("noRecordsMatch", {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": "collection"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": ""}),
        ("badArgument", {"verb": "GetRecord", "metadataPrefix": "a b", "identifier": "oai:x:1/2"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "marc21", "from": "yesterday"}),
        ("badArgument", {"verb": "ListRecords", "metadataPrefix": "marc21", "set": "a b"}),
        ("cannotDisseminateFormat", {"verb": "ListRecords", "metadataPrefix": "marc21"}),
        ("cannotDisseminateFormat", {"verb": "GetRecord", "metadataPrefix": "x", "identifier": "oai:x:1/2"}),
        ("idDoesNotExist", {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": "oai:x:12345/told"}),
        ("idDoesNotExist", {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": f"oai:{HOST}:12345/no"}),
        ("idDoesNotExist", {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": f"oai:{HOST}:12345/kept"}),
        ("idDoesNotExist", {"verb": "ListMetadataFormats", "identifier": "\x01"}),
        ("badResumptionToken", {"verb": "ListRecords", "resumptionToken": "x"}),
        ("badResumptionToken", {"verb": "ListSets", "resumptionToken": "e30"}),
    ],
)
def test_errors_have_the_codes_of_the_protocol(provider: Provider, code: str, arguments: dict[str, str]) -> None:
    assert provider.error(**arguments) == code


def test_a_token_is_only_for_its_own_list(provider: Provider) -> None:
    _, token = provider.page(verb="ListRecords", metadataPrefix="oai_dc")
    assert provider.error(verb="ListIdentifiers", resumptionToken=token) == "badResumptionToken"
    assert provider.error(verb="ListRecords", resumptionToken=token + "A") == "badResumptionToken"


def test_repeated_arguments_are_refused(provider: Provider) -> None:
    for query in (
        "verb=Identify&verb=Identify",
        "verb=ListRecords&metadataPrefix=oai_dc&metadataPrefix=oai_dc",
        "%ff=1",
    ):
        answer = etree.fromstring(provider.client.get(f"/oai?{query}").content)
        SCHEMA.assertValid(answer)
        assert answer.find(f"{OAI}error") is not None
        assert not answer.find(f"{OAI}request").attrib


def test_requests_may_be_forms(provider: Provider) -> None:
    data = {"verb": "GetRecord", "metadataPrefix": "oai_dc", "identifier": identifier("12345/told")}
    harvested = Sickle(f"{provider.server.url}/oai", http_method="POST").ListIdentifiers(metadataPrefix="oai_dc")
    assert len(list(harvested)) > 100
    by_form = provider.client.post("/oai", data=data)
    assert "Notes &amp; sketches" in by_form.text
    assert provider.client.post("/oai", json=data).status_code == 415
    assert provider.client.put("/oai", data=data).status_code == 405


def test_characters_that_xml_does_not_allow_are_left_out(provider: Provider) -> None:
    found = [
        record.metadata["title"][0]
        for record in provider.sickle.ListRecords(metadataPrefix="oai_dc", set="handle:12348")
        if "odd" in record.header.identifier
    ]
    assert found == [']]> <b>\U0001f4d6</b> é & "quotes"']
    with pytest.raises(IdDoesNotExist):
        provider.sickle.GetRecord(identifier=f"oai:{HOST}:12348/%FF", metadataPrefix="oai_dc")
