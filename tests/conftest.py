"""How hypothesis works here: as many examples as `make test` has time for, many more in `make test-slow`."""

import os

from hypothesis import HealthCheck, settings

for profile, examples in (("usual", 300), ("thorough", 2000)):
    settings.register_profile(
        profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))
