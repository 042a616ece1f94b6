"""What all parts of a record have in common: each is made whole, and never changed.

So no part can come to lead back to the whole, and the garbage collector need not walk over them in search of such
circles. Where thousands of them live at once, as in an import, that walk was a third of what it cost to make them.
"""

import msgspec


class Plain(msgspec.Struct, frozen=True, gc=False):
    """Something that consists of texts, numbers, and tuples of such things."""
