"""How hypothesis works here: as many examples as `make test` has time for, many more in the slow runs."""

from hypothesis import HealthCheck, settings

settings.register_profile("usual", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("usual")
