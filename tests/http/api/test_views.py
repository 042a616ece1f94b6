"""Response schemas and the registry objects that they are built from."""

from perdure.http.api.schemas.person_responses import PersonResponse
from perdure.http.api.schemas.responses import ValueResponse
from perdure.records.value import Value
from perdure.registry.identifier_view import View


def test_a_value_response_has_every_field_of_a_value() -> None:
    assert set(ValueResponse.__struct_fields__) == set(Value.__struct_fields__)


def test_a_person_response_has_the_fields_of_the_view_that_concern_persons() -> None:
    own = set(PersonResponse.__struct_fields__) - set(View.__struct_fields__)
    public = {"public_observations", "public_reconstructions"}
    assert own == {"ppid", "type", "uri", "newest", "withdrawal", "dropped", "redacted_too", *public}
