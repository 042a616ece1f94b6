"""A budget of time for optional work."""

from perdure.http.shared.time_budget import TimeBudget


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_work_stops_when_the_time_is_spent_and_goes_on_later() -> None:
    clock = Clock()
    budget = TimeBudget(0.1, 2.0, clock)
    assert budget.has_time()
    budget.spend(2.5)
    assert not budget.has_time()
    clock.now += 4
    assert not budget.has_time()
    clock.now += 2
    assert budget.has_time()


def test_time_that_is_not_spent_is_not_saved_for_ever() -> None:
    clock = Clock()
    budget = TimeBudget(0.1, 2.0, clock)
    clock.now += 1000
    assert budget.has_time()
    budget.spend(2.0)
    assert not budget.has_time()
