"""The choice between the answers of several servers."""

from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.federation.answer_choice import GivenAnswer, choose_answer
from perdure.federation.statements import Answer

DAYS = [f"2026-01-0{day}T00:00:00.000000Z" for day in range(1, 6)]


def answer(
    peer: str, state: str, day: int = 0, *, owner: bool = False, version: int = 1, language: str | None = None
) -> GivenAnswer:
    stated = Answer(
        server=peer,
        time=DAYS[-1],
        name="12345/a",
        state=state,  # type: ignore[arg-type]
        archive=f"https://{peer}.example:8443",
        timestamp=DAYS[day],
        version=version,
        language=language,
    )
    return GivenAnswer(peer, stated, owner)


GIVEN = st.builds(
    answer,
    st.sampled_from("abcd"),
    st.sampled_from(["original", "copy", "registered", "withdrawn", "unknown"]),
    st.integers(0, 4),
    owner=st.booleans(),
    version=st.integers(1, 3),
    language=st.sampled_from([None, "en", "pt"]),
)
MANY = st.lists(GIVEN, max_size=4, unique_by=lambda given: given.peer)


@given(MANY, st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order(answers: list[GivenAnswer], random: object) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = choose_answer(answers), choose_answer(shuffled)
    assert (one and (one.given.answer, one.reason)) == (other and (other.given.answer, other.reason))


@given(MANY)
def test_something_is_chosen_if_a_server_has_the_name(answers: list[GivenAnswer]) -> None:
    known = [given for given in answers if given.answer.state != "unknown"]
    choice = choose_answer(answers)
    assert (choice is not None) == bool(known)
    assert choice is None or choice.given in known


@given(MANY)
def test_a_copy_never_wins_over_a_tombstone_of_the_owner_or_an_original(answers: list[GivenAnswer]) -> None:
    choice = choose_answer(answers)
    if choice is not None and choice.given.answer.state == "copy":
        assert all(one.answer.state != "original" for one in answers)
        assert not any(one.is_owner and one.answer.state == "withdrawn" for one in answers)


@given(MANY, st.sampled_from(["a", "b.example", "c.example:8443"]))
def test_a_site_that_has_the_name_is_preferred_but_not_against_a_tombstone_of_the_owner(
    answers: list[GivenAnswer], site: str
) -> None:
    choice = choose_answer(answers, site=site)
    at_site = [one for one in answers if one.peer == site[0] and one.answer.state in ("original", "copy", "registered")]
    if at_site and not any(one.is_owner and one.answer.state == "withdrawn" for one in answers):
        assert choice is not None
        assert choice.given.peer == site[0]
        assert choice.reason == "preferred site"


@pytest.mark.parametrize(
    ("answers", "winner", "reason"),
    [
        ([answer("a", "original"), answer("b", "copy", 4, version=3)], "a", "original"),
        ([answer("a", "copy", 1, version=1), answer("b", "copy", 0, version=2)], "b", "newest copy"),
        ([answer("a", "copy", 1), answer("b", "copy", 2)], "b", "newest copy"),
        ([answer("a", "original", 1), answer("b", "original", 2)], "b", "original"),
        ([answer("a", "withdrawn", 0, owner=True), answer("b", "copy", 4)], "a", "tombstone of the owner"),
        ([answer("a", "withdrawn", 1, owner=True), answer("b", "original", 0)], "a", "tombstone of the owner"),
        ([answer("a", "withdrawn", 1, owner=True), answer("b", "original", 2)], "a", "tombstone of the owner"),
        ([answer("a", "withdrawn", 1, owner=True), answer("b", "original", 2, owner=True)], "b", "original"),
        ([answer("a", "original", 0, owner=True), answer("b", "original", 4, version=9)], "a", "original"),
        ([answer("a", "registered", 0, owner=True), answer("b", "original", 4)], "a", "registered by the owner"),
        ([answer("a", "copy", 0, owner=True), answer("b", "original", 0)], "b", "original"),
        ([answer("a", "withdrawn", 4), answer("b", "copy", 0)], "b", "newest copy"),
        ([answer("a", "withdrawn", 4), answer("b", "unknown")], "a", "tombstone"),
        ([answer("a", "registered", 0, owner=True), answer("b", "copy", 4)], "a", "registered by the owner"),
        ([answer("a", "registered", 4), answer("b", "copy", 0)], "b", "newest copy"),
        ([answer("a", "registered"), answer("b", "unknown")], "a", "registered"),
    ],
)
def test_the_rules(answers: list[GivenAnswer], winner: str, reason: str) -> None:
    for ordered in permutations(answers):
        choice = choose_answer(ordered)
        assert choice is not None
        assert (choice.given.peer, choice.reason) == (winner, reason)


def test_a_language_is_preferred_to_a_role_but_not_to_a_site() -> None:
    answers = [answer("a", "original"), answer("b", "copy", language="pt"), answer("c", "copy")]
    assert choose_answer(answers, language="pt").given.peer == "b"  # type: ignore[union-attr]
    assert choose_answer(answers, language="pt", site="c").given.peer == "c"  # type: ignore[union-attr]
    assert choose_answer(answers, language="fr").given.peer == "a"  # type: ignore[union-attr]


def test_an_answer_that_leads_to_a_server_that_does_not_answer_comes_last() -> None:
    """The owner says where the original is, which is down: a copy is better."""
    owner, copy = answer("a", "registered", owner=True), answer("b", "copy")
    moved = owner._replace(answer=msgspec.structs.replace(owner.answer, url="https://c.example:8443/items/x/"))
    down = ["https://c.example:8443"]
    for answers in ([moved, copy], [copy, moved]):
        chosen = choose_answer(answers, unreachable=down)
        assert chosen is not None
        assert (chosen.given.peer, chosen.reason) == ("b", "newest copy")
        assert choose_answer(answers, unreachable=["https://c.example"]).given.peer == "a"  # type: ignore[union-attr]
    assert choose_answer([moved], unreachable=down).given.peer == "a"  # type: ignore[union-attr]


@pytest.mark.parametrize("state", ["original", "registered", "copy"])
def test_the_owner_says_which_server_has_the_original_and_no_server_can_pass_for_another(state: str) -> None:
    owner = answer("a", state, owner=True)
    address = "https://b.example/items/x/"
    where = {"original": address} if state == "copy" else {"url": address}
    owner = owner._replace(answer=msgspec.structs.replace(owner.answer, **where))
    real = answer("b", "original", 1)._replace(url="https://b.example")
    lie = answer("c", "original", 4, version=9)
    lie = GivenAnswer("c", msgspec.structs.replace(lie.answer, archive="https://b.example"), url="https://c.example")
    for ordered in permutations([owner, real, lie]):
        assert choose_answer(ordered).given is real  # type: ignore[union-attr]
    similar = lie._replace(url="https://b.exam")
    assert choose_answer([owner, real, similar]).given is real  # type: ignore[union-attr]
