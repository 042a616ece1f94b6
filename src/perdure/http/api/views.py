"""Conversion of registry objects to response schemas."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

from perdure.http.api.schemas.responses import (
    AgentResponse,
    DifferenceItem,
    GrantResponse,
    IdentifierResponse,
    IdentifierSummary,
    ImportSummary,
    LabelPeriodItem,
    MintedLine,
    MintedName,
    MintResponse,
    PrefixResponse,
    RecordedRevision,
    RevisionSummary,
    SearchHit,
    SearchResponse,
    ValueResponse,
    ValueTypeItem,
    ValueTypeListResponse,
)
from perdure.http.shared.problem_json import problem_document
from perdure.names import instant
from perdure.records.value import Value
from perdure.registry import MintedIdentifier, RowOutcome, Tally
from perdure.registry.entities import Act, Agent, Grant, History, Identifier, Prefix, Revision
from perdure.registry.entities import SearchHit as Hit
from perdure.registry.identifier_view import View
from perdure.registry.listing import describe_identifier
from perdure.registry.value_types import ValueType
from perdure.registry.version_diff import Difference

S = TypeVar("S", bound=msgspec.Struct)


def build_mint_response(minted: list[MintedIdentifier], also_known_as: tuple[str, ...] = ()) -> MintResponse:
    return MintResponse(
        also_known_as=also_known_as,
        identifiers=tuple(
            MintedName(name=name.name, alias=name.alias, date=None if name.date is None else instant.to_iso(name.date))
            for name in minted
        ),
    )


def build_minted_line(line: int, outcome: RowOutcome) -> MintedLine:
    minted = outcome.minted
    if outcome.error is not None:
        return MintedLine(line=line, error=problem_document(outcome.error))
    if minted is None:
        return MintedLine(line=line, created=outcome.is_new)
    date = None if minted.date is None else instant.to_iso(minted.date)
    return MintedLine(line=line, name=minted.name, alias=minted.alias, date=date, created=outcome.is_new)


def build_from(schema: type[S], source: object, **given: Any) -> S:
    """Build a response schema from the attributes of the same names, except the given ones."""
    return schema(**{name: getattr(source, name) for name in schema.__struct_fields__ if name not in given}, **given)


def build_value(value: Value) -> ValueResponse:
    return build_from(ValueResponse, value)


def build_identifier(view: View, *, with_handle_record: bool = False) -> IdentifierResponse:
    return build_from(
        IdentifierResponse,
        view,
        values=tuple(build_value(value) for value in view.values),
        handle_record=tuple(build_value(value) for value in view.handle_record) if with_handle_record else (),
    )


def build_summary(row: Identifier) -> IdentifierSummary:
    return IdentifierSummary(name=row.name, scheme=row.scheme, state=row.state, version=row.version, target=row.target)


def build_detailed_summary(stored: History) -> IdentifierSummary:
    return build_from(IdentifierSummary, describe_identifier(stored))


def build_revisions(acts: list[Act]) -> tuple[RevisionSummary, ...]:
    return tuple(build_from(RevisionSummary, act) for act in acts)


def build_recorded_revisions(acts: Sequence[Act | Revision]) -> tuple[RecordedRevision, ...]:
    return tuple(build_from(RecordedRevision, act, record=_record_of(act)) for act in acts)


def _record_of(act: Act | Revision) -> msgspec.Raw | None:
    return msgspec.Raw(act.record) if isinstance(act, Revision) else None


def build_difference(difference: Difference) -> DifferenceItem:
    return build_from(DifferenceItem, difference)


def build_search_response(hits: list[Hit]) -> SearchResponse:
    return SearchResponse(found=tuple(build_from(SearchHit, hit) for hit in hits))


def build_prefix(prefix: Prefix) -> PrefixResponse:
    subsystem = prefix.subsystem
    return build_from(
        PrefixResponse,
        prefix,
        prefix=prefix.name,
        host=None if subsystem is None else subsystem.host,
        port=None if subsystem is None or subsystem.host is None else subsystem.port,
        ip=None if subsystem is None else subsystem.ip,
        ip_port=None if subsystem is None or subsystem.ip is None else subsystem.ip_port,
        periods=tuple(build_from(LabelPeriodItem, one, label=one.label_prefix) for one in prefix.periods),
        granularity=None if subsystem is None else _format_decimal(subsystem.granularity),
    )


def build_value_types(prefix: str, types: Sequence[ValueType]) -> ValueTypeListResponse:
    return ValueTypeListResponse(prefix=prefix, types=tuple(build_from(ValueTypeItem, one) for one in types))


def build_agent(agent: Agent, grants: Sequence[Grant]) -> AgentResponse:
    return build_from(AgentResponse, agent, grants=tuple(build_from(GrantResponse, grant) for grant in grants))


def build_import_summary(tally: Tally, dry_run: bool, omitted: int) -> ImportSummary:
    return build_from(ImportSummary, tally, dry_run=dry_run, untold=omitted)


def _format_decimal(step: Fraction) -> str:
    """Format a granularity as a decimal number, which always has finitely many digits."""
    return f"{Decimal(step.numerator) / step.denominator:f}"
