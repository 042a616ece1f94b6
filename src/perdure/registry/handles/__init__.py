"""What a client of a Handle server may do: read, write, delete, list, home, find, and prove who it is."""

from perdure.registry.authority import rights
from perdure.registry.handles.deleting import delete_handle, delete_values
from perdure.registry.handles.expecting import Expected
from perdure.registry.handles.finding import find_handles
from perdure.registry.handles.homing import home_prefix, unhome_prefix
from perdure.registry.handles.identities import KeyMaterial, identity, key_material
from perdure.registry.handles.listing import list_handles, list_prefixes
from perdure.registry.handles.minting import mint_handle
from perdure.registry.handles.reading import HandleView, read_handle
from perdure.registry.handles.rewriting import HandleWritten
from perdure.registry.handles.writing import put_handle, put_values
from perdure.registry.prefix_records import prefix_record

__all__ = [
    "Expected",
    "HandleView",
    "HandleWritten",
    "KeyMaterial",
    "delete_handle",
    "delete_values",
    "find_handles",
    "home_prefix",
    "identity",
    "key_material",
    "list_handles",
    "list_prefixes",
    "mint_handle",
    "prefix_record",
    "put_handle",
    "put_values",
    "read_handle",
    "rights",
    "unhome_prefix",
]
