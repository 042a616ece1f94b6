"""Bulk observation: each outcome is as it would be alone, and no error affects another observation."""

import asyncio

import pytest
from tests.registry.persons.test_persons import FIRST, JAN, SECOND, SHARED, WHEN
from tests.registry_fixture import Office, StoreFactory

from perdure import ppid
from perdure.errors import Immutable, InvalidInput, NotAuthorised, OutOfRange, PerdureError
from perdure.records.person import Claim, Observation
from perdure.registry import history, observe, reopen, show
from perdure.registry.persons import Person
from perdure.registry.persons.bulk_observations import MOST_OBSERVATIONS, observe_many

NAMED = (Claim(type="name", value="Jan de Vries"), Claim(type="birth_date", value="1895-03~"))
JAN_SEEN = Observation(*JAN, "Staff page", "NL-NH-AMS-M-RM", NAMED)


def page(number: int, *claims: Claim) -> Observation:
    return Observation(f"https://example.org/page/{number}", WHEN, "0" * 64, claims=claims)


def require_persons(outcomes: list[Person | PerdureError]) -> list[Person]:
    assert all(isinstance(one, Person) for one in outcomes), outcomes
    return [one for one in outcomes if isinstance(one, Person)]


def test_each_observation_is_the_same_as_in_a_single_call(office: Office) -> None:
    [jan, other] = require_persons(office.do(observe_many, [JAN_SEEN, page(1)], note="imported from staff.csv"))
    assert (jan.name, jan.created) == ("POID-93b0-4476-560e-5ac1", True)
    alone = office.do(observe, *JAN, source_name="Staff page", holding_archive="NL-NH-AMS-M-RM", claims=NAMED)
    assert alone == jan._replace(created=False)
    view = office.ask(show, jan.name)
    assert view.observation == JAN_SEEN
    assert view.uuid_raw == str(jan.uuid_raw)
    [revision] = office.ask(history, other.name)
    assert (revision.version, revision.action, revision.note) == (1, "mint", "imported from staff.csv")
    assert office.contradictions() == []


def test_the_same_again_creates_nothing(office: Office) -> None:
    many = [page(number, *NAMED) for number in range(20)]
    first = require_persons(office.do(observe_many, many))
    before = office.snapshot()
    again = require_persons(office.do(observe_many, many))
    assert again == [one._replace(created=False) for one in first]
    assert office.snapshot() == before


def test_a_refused_observation_does_not_prevent_others(office: Office) -> None:
    wrong = page(2, Claim(type="birth_date", value="yesterday"))
    outcomes = office.do(observe_many, [page(1), wrong, page(3)])
    assert [isinstance(one, Person) for one in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], InvalidInput)
    assert outcomes[1].part == "claims[1].value"


def test_the_same_inputs_twice_in_one_call_make_one_observation(office: Office) -> None:
    first, again, inputs_alone, other = office.do(
        observe_many, [page(1, *NAMED), page(1, *NAMED), page(1), page(1, NAMED[0])]
    )
    assert isinstance(first, Person)
    assert first.created
    assert again == inputs_alone == first._replace(created=False)
    assert isinstance(other, Immutable)


def test_content_is_never_changed(office: Office) -> None:
    [known] = require_persons(office.do(observe_many, [page(1, *NAMED)]))
    before = office.snapshot()
    [outcome] = office.do(observe_many, [page(1, NAMED[1])])
    assert isinstance(outcome, Immutable)
    assert outcome.name == known.name
    assert office.snapshot() == before


@pytest.mark.parametrize("together", [True, False])
def test_a_collision_gets_the_name_of_the_successor(office: Office, together: bool) -> None:
    seen = [Observation(*FIRST), Observation(*SECOND)]
    chunks = [seen] if together else [seen[:1], seen[1:]]
    names = [one.name for chunk in chunks for one in require_persons(office.do(observe_many, chunk))]
    assert names == [SHARED, ppid.successor(SHARED, 1)]
    assert [one.name for one in require_persons(office.do(observe_many, seen))] == names
    assert office.contradictions() == []


def test_an_agent_without_permission_to_observe_is_refused_for_all(office: Office) -> None:
    curator = office.hire("curator", "PRID", "mint")
    before = office.snapshot()
    with pytest.raises(NotAuthorised, match="mint"):
        office.by(curator, observe_many, [page(1)])
    with pytest.raises(NotAuthorised):
        office.by(curator, observe_many, [page(1)], dry_run=True)
    assert office.snapshot() == before


def test_a_dry_run_returns_the_same_and_creates_nothing(office: Office) -> None:
    office.do(observe_many, [page(1)])
    many = [page(1), page(2), page(3, Claim(type="shoe size", value="44"))]
    before = office.snapshot()
    tried = office.do(observe_many, many, dry_run=True)
    assert office.snapshot() == before
    done = office.do(observe_many, many)
    assert tried[:2] == done[:2]
    assert str(tried[2]) == str(done[2])


def test_the_number_of_observations_in_a_call_is_limited(office: Office) -> None:
    with pytest.raises(OutOfRange, match=str(MOST_OBSERVATIONS)):
        office.do(observe_many, [page(1)] * (MOST_OBSERVATIONS + 1))


def test_concurrent_calls_with_the_same_observations_create_each_once(
    office: Office, store_factory: StoreFactory
) -> None:
    many = [page(number, *NAMED) for number in range(30)]
    other = store_factory()

    async def both() -> list[list[Person | PerdureError]]:
        second = await reopen(other, office.clock, office.registry.settings)
        calls = [
            observe_many(registry, office.admin, order)
            for registry in (office.registry, second)
            for order in (many, many[::-1])
        ]
        return list(await asyncio.gather(*calls))

    outcomes = [one for results in office.run(both()) for one in require_persons(results)]
    assert sum(one.created for one in outcomes) == len({one.name for one in outcomes}) == 30
    assert office.contradictions() == []


def test_observations_exist_after_a_restart(office: Office, store_factory: StoreFactory) -> None:
    first = require_persons(office.do(observe_many, [page(1), page(2)]))
    again = require_persons(office.reopen(store_factory()).do(observe_many, [page(2), page(1)]))
    assert again == [one._replace(created=False) for one in reversed(first)]
