"""What the people who run a registry decide, with defaults that suit a laptop."""

from fractions import Fraction

import msgspec

from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.records.checks import Limits
from perdure.records.iris import Namespaces


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that may change after a registry was made; what may not lies in the store."""

    limits: Limits = Limits()
    type_prefix: str = DEFAULT_TYPE_PREFIX
    longest_wait: float = 10.0
    largest_gap_days: float = 3653.0
    namespaces: Namespaces = Namespaces()

    @property
    def wait(self) -> Fraction:
        return Fraction(self.longest_wait)

    @property
    def gap(self) -> Fraction:
        return Fraction(self.largest_gap_days) * 86_400
