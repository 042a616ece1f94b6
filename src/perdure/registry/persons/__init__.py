"""The use cases of persons: observations of sources, reconstructions by curators, and their changes."""

from perdure.registry.persons.bulk_observations import observe_many
from perdure.registry.persons.dropped_items import DroppedItem, find_dropped, list_dropped
from perdure.registry.persons.identity import Person, find_free_name, raw_uuid, successor_names
from perdure.registry.persons.linking import DroppedLink, change_links, combine_links, replace_links
from perdure.registry.persons.merging import merge, undo_merge
from perdure.registry.persons.observing import observe
from perdure.registry.persons.person_iterator import count_persons, iterate_persons
from perdure.registry.persons.person_query import PersonView, list_observations, list_person_versions, show_person
from perdure.registry.persons.person_search import PersonHit, PersonPage, find_by_link, find_by_name
from perdure.registry.persons.reconstructing import Curation, reconstruct, revise_reconstruction
from perdure.registry.persons.redacting import redact
from perdure.registry.persons.restricting import lift_restriction, list_public_persons, restrict
from perdure.registry.persons.splitting import split, undo_split

__all__ = [
    "Curation",
    "DroppedItem",
    "DroppedLink",
    "Person",
    "PersonHit",
    "PersonPage",
    "PersonView",
    "change_links",
    "combine_links",
    "count_persons",
    "find_by_link",
    "find_by_name",
    "find_dropped",
    "find_free_name",
    "iterate_persons",
    "lift_restriction",
    "list_dropped",
    "list_observations",
    "list_person_versions",
    "list_public_persons",
    "merge",
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
    "successor_names",
    "undo_merge",
    "undo_split",
]
