"""Copies of the content of stored files out of a collection, each compared with its digest."""

from perdure.collections.hashed_copy import HashedContent, HashedCopier, ReadFailed
from perdure.collections.item import ItemFile, ItemVersion
from perdure.collections.source_files import open_regular
from perdure.errors import ItemDamaged


def copy_content(version: ItemVersion, file: ItemFile, copier: HashedCopier, descriptor: int) -> HashedContent:
    """Copy the content of a file to a file descriptor. Raise ItemDamaged if it is missing, unreadable or changed.

    An OSError is one of the copy.
    """
    label = version.inventory.id
    try:
        stream = open_regular(version.content_of(file))
    except FileNotFoundError as problem:
        raise ItemDamaged(label, f"the content of {file.path} is missing") from problem
    except OSError as problem:
        raise ItemDamaged(label, f"the content of {file.path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise ItemDamaged(label, f"the content of {file.path} was replaced: {problem}") from problem
    with stream as opened:
        try:
            content = copier.copy(opened, descriptor)
        except ReadFailed as problem:
            raise ItemDamaged(label, f"the content of {file.path} cannot be read: {problem.strerror}") from problem
    if content.digests["sha512"] != file.sha512:
        raise ItemDamaged(label, f"the content of {file.path} was changed")
    return content
