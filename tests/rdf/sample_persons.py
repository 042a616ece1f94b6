"""Sample persons that have every property, and a strategy for all others."""

from datetime import datetime, timezone

import msgspec
from hypothesis import strategies as st

from perdure.names import ppid
from perdure.rdf import CONTEXT, Namespaces, write_person
from perdure.records.authority_metadata import AuthorityMetadata
from perdure.records.edtf import runs_backwards
from perdure.records.person import (
    CLAIM_TYPES,
    ChosenClaim,
    Claim,
    Employment,
    InSource,
    Link,
    Observation,
    PersonName,
    Reconstruction,
    Redaction,
    Restriction,
)
from perdure.records.person_validation import check_observation, check_reconstruction
from perdure.records.record import Tombstone
from perdure.records.validation import Limits
from perdure.registry.identifier_view import View
from perdure.registry.persons import PersonView

NAMESPACES = Namespaces()
CONTEXT_URL = "https://ppid.org/context.jsonld"
POID, OTHER_POID = "POID-93b0-4476-560e-5ac1", "POID-5841-3d40-65d0-5c6X"
PRID, OTHER_PRID = "PRID-5ccc-3780-8c9c-5a90", "PRID-1b91-673b-631c-5ff5"
AT = "2025-01-09T10:30:00Z"
AUTHORITY = AuthorityMetadata("hdl:20.500.1/me", AT, "2025-02-15T14:00:00Z", ("https://example.org/owner",))

CLAIMS = (
    Claim(
        type="name",
        value=PersonName(
            given_name="Jan", initials="J.", patronym="Pieters", surname_prefix="van der", base_surname="Werk"
        ),
        language="nl",
        confidence=0.95,
        where=InSource(xpath="//p[1]", quote='"Jan"\r\nvan der Werk', page="12"),
        agent="reader 1.0",
    ),
    Claim(type="name", value="Jan de Oude"),
    Claim(type="gender", value="man", language="nl"),
    Claim(type="birth_date", value="1895-03~"),
    Claim(type="birth_place", value="Leiden", language="nl"),
    Claim(type="baptism_date", value="1895-03-17"),
    Claim(type="death_date", value="1960", status="inferred", reasoning="no letters after that year"),
    Claim(type="age", value="42"),
    Claim(type="https://example.org/eyes", value="blue"),
)
SOURCE = Observation('https://example.org/staff?name="jan"', AT, "0" * 64, "Staff list", "NL-NH-AMS-M-RM")
SAMPLE_OBSERVATION = Observation(*(getattr(SOURCE, field) for field in SOURCE.__struct_fields__[:5]), CLAIMS)
SAMPLE_RECONSTRUCTION = Reconstruction(
    (OTHER_POID, POID),
    "https://orcid.org/0000-0002-1825-0097",
    AT,
    "Ann Curator",
    None,
    "reading the staff lists",
    tuple(ChosenClaim(POID, number, claim) for number, claim in enumerate(CLAIMS, 1)),
    "Two lists,\none person.",
    (
        Link("exact", "orcid", "0000-0002-1694-233X"),
        Link("exact", "isni", "0000000121032683"),
        Link("exact", "viaf", "102333412"),
        Link("exact", "wikidata", "Q12345"),
        Link("close", "wikidata", "Q42"),
    ),
    (Employment(institution="NL-NH-AMS-M-RM", role="Senior Archivist", start="2015", end="2019-03~"),),
    (OTHER_PRID,),
)


def person(
    content: Observation | Reconstruction | None,
    *,
    name: str | None = None,
    state: str = "active",
    version: int = 1,
    newest: int | None = None,
    tombstone: Tombstone | None = None,
    restriction: Restriction | None = None,
    redaction: Redaction | None = None,
) -> PersonView:
    """Return the view of a person. The second observation of a reconstruction is restricted."""
    observation = content if isinstance(content, Observation) else None
    reconstruction = content if isinstance(content, Reconstruction) else None
    view = View(
        names=(),
        name=name or (PRID if reconstruction else POID),
        scheme="ppid",
        state=state,
        version=version,
        authority=AUTHORITY,
        tombstone=tombstone,
        observation=observation,
        reconstruction=reconstruction,
        restriction=restriction,
        redaction=redaction,
        uuid_raw="93b04476-560e-5ac1-96d2-65f6ed9b7ce9",
    )
    observations = (
        {}
        if reconstruction is None
        else {one: SOURCE if one == POID else None for one in reconstruction.observation_ids}
    )
    return PersonView(view, AT, newest or version, observations)


DOCUMENTS = {
    "observation": person(SAMPLE_OBSERVATION),
    "reconstruction": person(SAMPLE_RECONSTRUCTION, version=2),
    "version": person(SAMPLE_RECONSTRUCTION, version=2, newest=3),
    "algorithm": person(Reconstruction((POID,), "name matcher", AT, algorithm_version="2.1")),
    "merged": person(SAMPLE_RECONSTRUCTION, state="merged", tombstone=Tombstone("one person", OTHER_PRID, merged_at=2)),
    "split": person(
        SAMPLE_RECONSTRUCTION, state="withdrawn", tombstone=Tombstone("two persons", successors=(OTHER_PRID, PRID))
    ),
    "restricted": person(None, name=PRID, version=2, restriction=Restriction("a living person", AT)),
    "redacted": person(None, name=POID, version=2, redaction=Redaction("a court's order", AT, "1" * 64)),
}


def write_document(one: PersonView, format: str = "n-triples", *, as_version: bool = False) -> bytes:
    return write_person(one, format, NAMESPACES, CONTEXT_URL, as_version=as_version)


def inline_context(json_ld: bytes) -> bytes:
    """Return the document with its context in it, for parsers that would fetch the context."""
    return json_ld.replace(f'"@context":"{CONTEXT_URL}"'.encode(), CONTEXT.strip()[1:-1].strip(), 1)


_texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12).filter(str.strip)
_longer = st.lists(st.one_of(_texts, st.sampled_from(["\r\n", "\t", "\\", '"', "<&>"])), min_size=1, max_size=3).map(
    lambda parts: "x" + "".join(parts)
)
_dates = st.sampled_from(
    ["1895", "1895-03", "1895-03-12", "1895-03~", "195X", "0000", "-0044", "1895/1897", "[1667,1668]"]
)
_languages = st.sampled_from(["nl", "en-GB", "zh-Hant-TW", "x-dutch"])
_instants = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=timezone.utc).isoformat().replace("+00:00", "Z")
)
_urls = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zs", "Zl", "Zp"]), max_size=12).map(
        lambda text: f"https://example.org/{text}"
    ),
    st.sampled_from(
        [
            "prov:Agent",
            "urn:x|y",
            "type:person",
            "http://a:b:c/",
            "http://[zz]/",
            "https://\\x",
            "https://example.org/%zz#a#b",
        ]
    ),
)
_names = st.builds(PersonName, given_name=_texts, surname_prefix=st.none() | _texts, base_surname=st.none() | _texts)
_values = {"name": _names | _texts, "date": _dates, "text": _longer}
_positions = st.builds(InSource, xpath=st.none() | _longer, quote=_longer, page=st.none() | _texts)


_AGENTS = ["https://orcid.org/0000-0002-1825-0097", "tesseract/5.3.0", "javascript:alert(1)", "hdl:20.500.1/ann", PRID]


def _claims(type: str) -> st.SearchStrategy[Claim]:
    return st.builds(
        Claim,
        type=st.just(type),
        value=_values[CLAIM_TYPES.get(type, "text")],
        language=st.none() | _languages,
        confidence=st.none() | st.floats(0, 1),
        where=st.none() | _positions,
        agent=st.none() | _texts | st.sampled_from(_AGENTS),
        status=st.sampled_from(["verified", "inferred"]),
        reasoning=_longer,
    )


_claim_lists = st.lists(st.sampled_from([*CLAIM_TYPES, "https://example.org/eyes"]).flatmap(_claims), max_size=4).map(
    tuple
)


def _as_stored(observation: Observation) -> Observation:
    """Return an observation as a store may hold it: its source may be from before such sources were refused."""
    checked = check_observation(msgspec.structs.replace(observation, source_url="https://example.org/"), Limits())
    return msgspec.structs.replace(checked, source_url=observation.source_url)


observations = st.builds(
    Observation,
    _urls,
    _instants,
    st.text("0123456789abcdef", min_size=64, max_size=64),
    st.none() | _texts,
    st.none() | st.sampled_from(["NL-NH-AMS-M-RM", "https://example.org/archive"]),
    _claim_lists,
).map(_as_stored)

_employments = st.builds(
    Employment,
    institution=st.sampled_from(["NL-NH-AMS-M-RM", "NL-ZH-LEI-A-ELO"]),
    role=st.none() | _texts,
    start=st.none() | _dates,
    end=st.none() | _dates,
).filter(lambda one: one.start is None or one.end is None or not runs_backwards(one.start, one.end))


@st.composite
def reconstructed_persons(draw: st.DrawFn) -> PersonView:
    """Draw a reconstruction with some claims of its observations."""
    seen = draw(
        st.lists(observations, min_size=1, max_size=2, unique_by=lambda one: (one.source_url, one.content_hash))
    )
    named = {ppid.generate_poid(one.source_url, one.retrieval_timestamp, one.content_hash): one for one in seen}
    made = Reconstruction(
        tuple(named),
        draw(
            st.sampled_from(["https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097", "hdl:20.500.1/ann", PRID])
        ),
        draw(_instants),
        draw(st.none() | _texts),
        draw(st.none() | _texts),
        draw(st.none() | _texts),
        tuple(
            ChosenClaim(name, number, claim)
            for name, one in named.items()
            for number, claim in enumerate(one.claims, 1)
            if draw(st.booleans())
        ),
        draw(st.none() | _longer),
        draw(st.lists(st.sampled_from(SAMPLE_RECONSTRUCTION.links), max_size=3).map(tuple)),
        draw(st.lists(_employments, max_size=3).map(tuple)),
        draw(st.sampled_from([(), (OTHER_PRID,)])),
    )
    view = person(check_reconstruction(made, Limits()), version=draw(st.integers(1, 3)), newest=3)
    return view._replace(observations={name: draw(st.sampled_from([one, None])) for name, one in named.items()})


persons = st.one_of(observations.map(person), reconstructed_persons())
