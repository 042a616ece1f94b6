"""Bulk changes: preview, apply, continue, undo; with permission for every name."""

from collections.abc import Sequence

import pytest
from tests.registry_fixture import Office, set_target, write_unchecked

from perdure.errors import Conflict, InvalidInput, NoSuchBulkChange, NotAuthorised, WrongState
from perdure.records.value import Text, Value
from perdure.registry import (
    BulkChange,
    BulkRequest,
    IdentifierQuery,
    NameSource,
    QuerySource,
    Statement,
    add_subsystem,
    add_values,
    find_bulk_change,
    history,
    list_bulk_changes,
    mint,
    observe,
    run_bulk_change,
    show,
    undo_bulk_change,
    withdraw,
)
from perdure.registry.bulk_changes import BulkProblem, Example, bulk_run, sources
from perdure.registry.entities import Agent

OLD, NEW = "http://old.example.org/", "https://new.example.org/"
LOCATIONS = f'<locations><location href="{OLD}a"/><location href="http://other.example/"/></locations>'


@pytest.fixture
def library(office: Office) -> Office:
    """Return a registry with three names on the old host, one elsewhere, one withdrawn and one reserved."""
    office.prefix("12345", "chosen")
    for suffix in ("a", "b", "c", "gone"):
        office.do(mint, "12345", suffixes=[suffix], statement=Statement(f"{OLD}{suffix}"))
    office.do(mint, "12345", suffixes=["other"], statement=Statement("http://old.example.org.evil.example/"))
    office.do(mint, "12345", suffixes=["reserved"])
    office.do(withdraw, "12345/gone", "lost")
    return office


class Result:
    """The last state, and all problems and examples of a run."""

    def __init__(self) -> None:
        self.states: list[BulkChange] = []
        self.problems: list[BulkProblem] = []
        self.examples: list[Example] = []

    @property
    def change(self) -> BulkChange:
        return self.states[-1]


def run(office: Office, request: BulkRequest, names: Sequence[str] = (), by: Agent | None = None, *, dry_run: bool = False, stop_after: int = 0) -> Result:  # fmt: skip
    result = Result()
    source = QuerySource(request.query) if request.query is not None else NameSource(lambda: names)

    async def work() -> None:
        steps = run_bulk_change(office.registry, by or office.admin, request, source, dry_run=dry_run)
        async for step in steps:
            result.states.append(step.change)
            result.problems.extend(step.problems)
            result.examples.extend(step.examples)
            if len(result.states) == stop_after:
                break

    office.run(work())
    return result


def undo(office: Office, id: str, by: Agent | None = None, *, dry_run: bool = False) -> Result:
    result = Result()

    async def work() -> None:
        async for step in undo_bulk_change(office.registry, by or office.admin, id, dry_run=dry_run):
            result.states.append(step.change)
            result.problems.extend(step.problems)

    office.run(work())
    return result


def retarget_request(prefix: str | None = "12345", old: str = OLD, new: str = NEW, **options: bool) -> BulkRequest:
    return BulkRequest(kind="retarget", query=IdentifierQuery(prefix=prefix), old=old, new=new, **options)


def targets(office: Office, *suffixes: str) -> list[str | None]:
    return [office.ask(show, f"12345/{suffix}").target for suffix in suffixes]


def test_a_retarget_changes_each_url_once_and_leaves_everything_else(library: Office) -> None:
    done = run(library, retarget_request()).change
    assert (done.state, done.changed, done.refused, done.urls) == ("finished", 3, 0, 3)
    assert targets(library, "a", "b", "other") == [f"{NEW}a", f"{NEW}b", "http://old.example.org.evil.example/"]
    last = library.ask(history, "12345/a")[-1]
    assert (last.version, last.action, last.note) == (2, "retarget", f"bulk change {done.id}")
    assert library.ask(show, "12345/gone", version=1).version == 1
    assert library.ask(show, "12345/gone").version == 2
    assert run(library, retarget_request()).change.changed == 0
    assert library.contradictions() == []


def test_second_urls_their_subtypes_and_locations_change_in_one_version(library: Office) -> None:
    values = [
        Value(2, "URL", Text(f"{OLD}second")),
        Value(3, "URL.mirror", Text(f"{OLD}mirror"), permissions="1100"),
        Value(4, "10320/loc", Text(LOCATIONS)),
        Value(5, "DESC", Text(f"{OLD}text")),
    ]
    library.do(add_values, "12345/a", values)
    done = run(library, retarget_request("12345/a"))
    assert (done.change.changed, done.change.urls) == (1, 4)
    view = library.do(lambda registry, by: show(registry, "12345/a", by=by))
    assert [value.text for value in view.values] == [
        f"{NEW}a",
        f"{NEW}second",
        f"{NEW}mirror",
        LOCATIONS.replace(OLD, NEW),
        f"{OLD}text",
    ]
    assert view.version == 3


def test_an_address_that_was_imported_verbatim_redirects_once_it_is_valid(library: Office) -> None:
    """Its undo restores it as it was imported."""
    imported = [Value(1, "URL", Text("old.example.org/a"), verbatim=True), Value(2, "URL", Text(f"{OLD}a b"))]
    library.run(write_unchecked(library.registry, library.admin, "12345/a", *imported))
    request = retarget_request("12345/a", old=r"(?:http://)?old\.example\.org/", new=NEW, is_pattern=True)
    done = run(library, request).change
    assert (done.changed, done.urls) == (1, 2)
    view = library.ask(show, "12345/a")
    assert [(value.text, value.verbatim) for value in view.values] == [(f"{NEW}a", False), (f"{NEW}a b", False)]
    assert view.target == f"{NEW}a"
    undo(library, done.id)
    assert [value.verbatim for value in library.ask(show, "12345/a").values] == [True, False]


def test_a_preview_shows_counts_and_examples_and_writes_nothing(library: Office) -> None:
    before = library.snapshot()
    preview = run(library, retarget_request(), dry_run=True)
    assert (preview.change.state, preview.change.changed, preview.change.id) == ("preview", 3, "")
    assert preview.examples[0] == Example("12345/a", f"{OLD}a", f"{NEW}a")
    assert library.snapshot() == before


def test_a_change_without_effect_is_not_recorded(library: Office) -> None:
    before = library.snapshot()
    assert not run(library, retarget_request(old="http://nowhere.example/")).change.is_recorded
    assert library.snapshot() == before
    assert library.do(list_bulk_changes) == []


def test_a_name_whose_new_target_is_invalid_is_reported_and_left(library: Office) -> None:
    done = run(library, retarget_request("12345/a", new="gopher://new.example.org/"))
    assert [problem.name for problem in done.problems] == ["12345/a"]
    assert "gopher" in done.problems[0].reason
    assert targets(library, "a") == [f"{OLD}a"]


def test_a_regular_expression_may_refer_to_its_groups(library: Office) -> None:
    request = retarget_request(old=r"http://old\.example\.org/([ab])$", new=r"https://new.example.org/item?id=\1", is_pattern=True)  # fmt: skip
    assert run(library, request).change.changed == 2
    assert targets(library, "a", "c") == ["https://new.example.org/item?id=a", f"{OLD}c"]


def test_a_regular_expression_that_needs_too_long_is_stopped(library: Office) -> None:
    library.do(mint, "12345", suffixes=["long"], statement=Statement(f"{OLD}{'a' * 200}!"))
    request = retarget_request("12345/long", old=r"http://old\.example\.org/(a+)+$", new=NEW, is_pattern=True)
    done = run(library, request, dry_run=True)
    assert "takes longer than" in done.problems[0].reason


@pytest.mark.parametrize(("old", "new"), [("(", ""), ("a", r"\7"), ("a" * 2000, "")])
def test_a_regular_expression_that_is_not_valid_is_refused(library: Office, old: str, new: str) -> None:
    with pytest.raises(InvalidInput):
        run(library, retarget_request(old=old, new=new, is_pattern=True))


def test_both_names_of_a_pair_change_once_and_together(office: Office) -> None:
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    pair = office.do(mint, "sid.inpe.br/mtc-m18", statement=Statement(f"{OLD}pair"))[0]
    done = run(office, retarget_request(None)).change
    assert done.changed == 1
    assert office.ask(show, pair.name).target == office.ask(show, pair.alias).target == f"{NEW}pair"
    assert office.ask(show, pair.alias).version == 2
    withdrawn = run(office, BulkRequest(kind="withdraw", names="x", reason="lost"), [pair.alias or "", pair.name])
    assert withdrawn.change.changed == 1
    assert undo(office, withdrawn.change.id).change.undone == 1
    assert office.contradictions() == []


def test_persons_are_not_retargeted(library: Office) -> None:
    name = library.do(observe, f"{OLD}seen", "2025-01-09T10:30:00Z", "0" * 64).name
    run(library, retarget_request(None))
    assert library.ask(show, name).version == 1


def test_only_names_that_the_agent_may_change_are_changed(library: Office) -> None:
    jan = library.hire("jan")
    transferred = run(library, BulkRequest(kind="transfer", names="x", receiver="jan"), ["12345/a"])
    assert transferred.change.changed == 1
    names = BulkRequest(kind="retarget", names="y", old=OLD, new=NEW)
    done = run(library, names, ["12345/a", "12345/b"], by=jan)
    assert (done.change.changed, done.change.refused) == (1, 1)
    assert "no grant to edit" in done.problems[0].reason
    assert targets(library, "a", "b") == [f"{NEW}a", f"{OLD}b"]


def test_a_query_of_an_agent_with_own_names_selects_these_only(library: Office) -> None:
    jan = library.hire("jan")
    run(library, BulkRequest(kind="transfer", names="x", receiver="jan"), ["12345/a"])
    done = run(library, retarget_request(), by=jan)
    assert (done.change.seen, done.change.changed, done.problems) == (1, 1, [])
    with pytest.raises(NotAuthorised):
        run(library, retarget_request(), by=library.hire("piet"))


def test_nothing_is_recorded_for_an_agent_without_permission(library: Office) -> None:
    piet = library.hire("piet")
    before = library.snapshot()
    done = run(library, BulkRequest(kind="withdraw", names="x", reason="lost"), ["12345/a"], by=piet)
    assert (done.change.changed, done.change.refused) == (0, 1)
    assert library.snapshot() == before


def test_a_value_that_administrators_may_not_write_needs_a_grant(library: Office) -> None:
    library.do(add_values, "12345/a", [Value(2, "URL", Text(f"{OLD}locked"), permissions="1010")])
    editor = library.hire("editor", "12345", "edit")
    assert run(library, retarget_request("12345/a"), by=editor).change.changed == 1


def test_an_undo_restores_every_name_and_reports_those_changed_since(library: Office) -> None:
    done = run(library, retarget_request()).change
    library.do(set_target, "12345/b", "https://elsewhere.example/")
    before = library.snapshot()
    preview = undo(library, done.id, dry_run=True)
    assert (preview.change.undone, library.snapshot()) == (2, before)
    undone = undo(library, done.id)
    assert (undone.change.state, undone.change.undone, undone.change.undo_refused) == ("undone", 2, 1)
    assert [problem.name for problem in undone.problems] == ["12345/b"]
    assert targets(library, "a", "b", "c") == [f"{OLD}a", "https://elsewhere.example/", f"{OLD}c"]
    assert library.ask(history, "12345/a")[-1].note == f"undo of bulk change {done.id}"


def test_a_second_undo_tries_only_what_was_left(library: Office) -> None:
    done = run(library, retarget_request("12345/a")).change
    undo(library, done.id)
    with pytest.raises(WrongState):
        undo(library, done.id)
    assert library.ask(show, "12345/a").version == 3


def test_withdrawn_names_are_reinstated_by_an_undo(library: Office) -> None:
    request = BulkRequest(kind="withdraw", query=IdentifierQuery(prefix="12345"), reason="returned")
    done = run(library, request).change
    assert (done.changed, done.unchanged) == (5, 1)
    tombstone = library.ask(show, "12345/a").tombstone
    assert tombstone is not None
    assert tombstone.reason == "returned"
    assert undo(library, done.id).change.undone == 5
    assert [library.ask(show, f"12345/{suffix}").state for suffix in ("a", "reserved", "gone")] == [
        "active",
        "reserved",
        "withdrawn",
    ]


def test_transferred_names_go_back_by_an_undo(library: Office) -> None:
    jan = library.hire("jan")
    request = BulkRequest(kind="transfer", query=IdentifierQuery(prefix="12345"), receiver="jan", reason="a new owner")
    done = run(library, request).change
    assert done.changed == 6
    library.by(jan, set_target, "12345/a", "https://jan.example/")
    assert undo(library, done.id).change.undone == 5
    assert library.ask(show, "12345/b").authority.owners == ()
    assert library.ask(show, "12345/a").authority.owners == (jan.identifier,)


def test_names_that_are_not_registered_are_reported(library: Office) -> None:
    done = run(library, BulkRequest(kind="withdraw", names="x", reason="lost"), ["12345/a", "12345/nope", "777/x", "?"])
    assert done.change.changed == 1
    assert {problem.name for problem in done.problems} == {"12345/nope", "777/x", "?"}


def test_a_change_and_its_undo_are_recorded_among_the_events(library: Office) -> None:
    done = run(library, retarget_request()).change
    undo(library, done.id)
    events = [(event.action, event.subject) for event in library.events()[:4]]
    assert events == [("bulk retarget undo", done.id)] * 2 + [("bulk retarget", done.id)] * 2
    assert library.events()[2].detail.startswith("3 changed, 0 refused")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK", 1)
    monkeypatch.setattr(bulk_run, "CHUNK", 1)


@pytest.mark.usefixtures("small_chunks")
def test_an_interrupted_change_continues_and_changes_every_name_once(library: Office) -> None:
    begun = run(library, retarget_request(), stop_after=2).change
    assert (begun.state, begun.changed) == ("applying", 2)
    done = run(library, retarget_request()).change
    assert (done.id, done.state, done.changed) == (begun.id, "finished", 3)
    assert [library.ask(show, f"12345/{suffix}").version for suffix in "abc"] == [2, 2, 2]
    assert undo(library, done.id).change.undone == 3


@pytest.mark.usefixtures("small_chunks")
def test_an_interrupted_list_continues_where_it_stopped(library: Office) -> None:
    request, names = BulkRequest(kind="withdraw", names="x", reason="lost"), ["12345/c", "12345/a", "12345/b"]
    begun = run(library, request, names, stop_after=1).change
    assert begun.changed == 1
    done = run(library, request, names).change
    assert (done.id, done.changed, done.unchanged) == (begun.id, 3, 0)


@pytest.mark.usefixtures("small_chunks")
def test_an_unfinished_change_can_be_undone_and_does_not_continue(library: Office) -> None:
    begun = run(library, retarget_request(), stop_after=2).change
    assert undo(library, begun.id).change.undone == 2
    again = run(library, retarget_request()).change
    assert (again.id != begun.id, again.changed) == (True, 3)


@pytest.mark.usefixtures("small_chunks")
def test_two_processes_cannot_apply_the_same_change(library: Office) -> None:
    async def work() -> None:
        request = retarget_request()
        assert request.query is not None
        steps = run_bulk_change(library.registry, library.admin, request, QuerySource(request.query))
        await anext(steps)
        other = run_bulk_change(library.registry, library.admin, request, QuerySource(request.query))
        await anext(other)
        with pytest.raises(Conflict):
            await anext(steps)

    library.run(work())


@pytest.mark.usefixtures("small_chunks")
def test_a_name_that_changes_between_preparation_and_transaction_is_prepared_again(library: Office) -> None:
    """The second name is prepared while the first one is written."""

    async def work() -> None:
        request = retarget_request()
        assert request.query is not None
        steps = run_bulk_change(library.registry, library.admin, request, QuerySource(request.query))
        await anext(steps)
        await set_target(library.registry, library.admin, "12345/b", f"{OLD}b/changed")
        await set_target(library.registry, library.admin, "12345/c", "https://elsewhere.example/")
        async for _ in steps:
            pass

    library.run(work())
    assert targets(library, "a", "b", "c") == [f"{NEW}a", f"{NEW}b/changed", "https://elsewhere.example/"]
    assert library.ask(show, "12345/b").version == 3


def test_a_bulk_change_is_shown_to_its_agent_and_to_administrators_of_its_prefix(library: Office) -> None:
    editor = library.hire("editor", "12345", "edit")
    other = library.hire("other", "12345", "edit")
    head = library.hire("head", "12345", "admin")
    done = run(library, retarget_request(), by=editor).change
    for agent in (editor, head, library.admin):
        assert library.by(agent, find_bulk_change, done.id).changed == 3
        assert len(library.by(agent, list_bulk_changes)) == 1
    assert library.by(other, list_bulk_changes) == []
    with pytest.raises(NotAuthorised):
        undo(library, done.id, by=other)
    refused = undo(library, done.id, by=head).change
    assert (refused.state, refused.undone, refused.undo_refused) == ("finished", 0, 3)
    assert targets(library, "a") == [f"{NEW}a"]
    assert library.do(find_bulk_change, done.id).state == "finished"
    for unknown in ("0123456789", "x", "", "../x"):
        with pytest.raises(NoSuchBulkChange):
            library.do(find_bulk_change, unknown)


@pytest.mark.parametrize(("request_", "part"), [
    (BulkRequest(kind="retarget", query=IdentifierQuery(), old=OLD), "to"),
    (BulkRequest(kind="withdraw", names="x"), "reason"),
    (BulkRequest(kind="transfer", names="x"), "agent"),
    (BulkRequest(kind="withdraw", names="x", reason="r", receiver="admin"), "agent"),
    (BulkRequest(kind="withdraw", names="x", reason="r", is_pattern=True), "regex"),
    (BulkRequest(kind="withdraw", reason="r"), "names"),
    (BulkRequest(kind="withdraw", names="x", query=IdentifierQuery(prefix="12345"), reason="r"), "names"),
    (BulkRequest(kind="withdraw", query=IdentifierQuery(), reason="r"), "query"),
    (BulkRequest(kind="withdraw", names="x", reason="a\nb"), "reason"),
])  # fmt: skip
def test_a_request_that_is_not_complete_is_refused(library: Office, request_: BulkRequest, part: str) -> None:
    before = library.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        run(library, request_)
    assert refusal.value.part == part
    assert library.snapshot() == before
