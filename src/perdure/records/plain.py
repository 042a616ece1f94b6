"""What all parts of a record have in common: each is made whole, and never changed.

So no part can come to lead back to the whole, and the garbage collector need not walk over them in search of such
circles. Where millions of them are made, as in an import, that walk costs as much as all the rest.
"""

import msgspec


class Plain(msgspec.Struct, frozen=True, gc=False):
    """Something that consists of texts, numbers, and tuples of such things."""
