"""The use cases of Handle clients: read, write, delete, list, home, find, and authenticate."""

from perdure.registry.handles.deleting import delete_handle, delete_values
from perdure.registry.handles.homing import home_prefix, unhome_prefix
from perdure.registry.handles.identities import KeyMaterial, build_identity, find_key_material
from perdure.registry.handles.listing import iterate_handles, list_handles, list_prefixes
from perdure.registry.handles.minting import mint_handle
from perdure.registry.handles.preconditions import Precondition
from perdure.registry.handles.reading import HandleTombstone, HandleView, read_handle, read_tombstone
from perdure.registry.handles.reverse_lookup import find_handles
from perdure.registry.handles.user_list import list_handle_users
from perdure.registry.handles.users import add_handle_user, remove_handle_user
from perdure.registry.handles.write_handle import HandleWriteResult, put_handle, put_values
from perdure.registry.permissions.permissions import rights
from perdure.registry.prefixes.na_records import prefix_record

__all__ = [
    "HandleTombstone",
    "HandleView",
    "HandleWriteResult",
    "KeyMaterial",
    "Precondition",
    "add_handle_user",
    "build_identity",
    "delete_handle",
    "delete_values",
    "find_handles",
    "find_key_material",
    "home_prefix",
    "iterate_handles",
    "list_handle_users",
    "list_handles",
    "list_prefixes",
    "mint_handle",
    "prefix_record",
    "put_handle",
    "put_values",
    "read_handle",
    "read_tombstone",
    "remove_handle_user",
    "rights",
    "unhome_prefix",
]
