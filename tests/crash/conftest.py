"""Assertions outside the test files say what they compared, too."""

import pytest

pytest.register_assert_rewrite("tests.crash.ground", "tests.crash.killing", "tests.crash.ledger")
