"""The settings that the operators of a registry choose, with defaults that suit a laptop."""

from fractions import Fraction
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.records.namespaces import Namespaces
from perdure.records.validation import Limits

TypePrefix = Annotated[
    str, Meta(description="Prefix of the value types that hold authority metadata in Handle records.")
]
LongestWait = Annotated[
    float, Meta(description="Maximum number of seconds that minting waits for the next free date before it fails.")
]
StepsAhead = Annotated[
    int,
    Meta(
        description="Maximum number of steps of its granularity, beyond `longest_wait`, for which a request to an IBI "
        "subsystem waits if its client chose the wait (`Prefer`)."
    ),
]
LargestGap = Annotated[
    float,
    Meta(description="Days that the clock may be ahead of the last date of a timeline; beyond, minting is refused."),
]


UnusualSources = Annotated[
    tuple[Literal["urn", "mailto"], ...],
    Meta(description="Schemes without a web address that the source of a new observation may have: urn, mailto."),
]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that may change after a registry was created. The fixed ones are in the store."""

    limits: Limits = Limits()
    type_prefix: TypePrefix = DEFAULT_TYPE_PREFIX
    longest_wait: LongestWait = 10.0
    largest_gap_days: LargestGap = 3653.0
    steps_ahead: StepsAhead = 60
    namespaces: Namespaces = Namespaces()
    unusual_sources: UnusualSources = ()

    @property
    def wait(self) -> Fraction:
        return Fraction(self.longest_wait)

    @property
    def gap(self) -> Fraction:
        return Fraction(self.largest_gap_days) * 86_400
