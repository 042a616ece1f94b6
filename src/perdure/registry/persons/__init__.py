"""Persons: what sources show of them, what curators conclude, and how that changes."""

from perdure.registry.persons.bulk import observe_many
from perdure.registry.persons.curation import Curation
from perdure.registry.persons.finding import FoundPerson, PageOfPersons, find_by_link, find_by_name
from perdure.registry.persons.identity import Person, free_name, raw_uuid, successors, uuid_of
from perdure.registry.persons.linking import replace_links
from perdure.registry.persons.merging import merge, undo_merge
from perdure.registry.persons.observing import observe
from perdure.registry.persons.reconstructing import reconstruct, revise_reconstruction
from perdure.registry.persons.redacting import redact
from perdure.registry.persons.restricting import lift_restriction, restrict
from perdure.registry.persons.showing import PersonView, observations_of, show_person, versions_of
from perdure.registry.persons.splitting import split, undo_split
from perdure.registry.persons.walking import count_persons, walk_persons

__all__ = [
    "Curation",
    "FoundPerson",
    "PageOfPersons",
    "Person",
    "PersonView",
    "count_persons",
    "find_by_link",
    "find_by_name",
    "free_name",
    "lift_restriction",
    "merge",
    "observations_of",
    "observe",
    "observe_many",
    "raw_uuid",
    "reconstruct",
    "redact",
    "replace_links",
    "restrict",
    "revise_reconstruction",
    "show_person",
    "split",
    "successors",
    "undo_merge",
    "undo_split",
    "uuid_of",
    "versions_of",
    "walk_persons",
]
