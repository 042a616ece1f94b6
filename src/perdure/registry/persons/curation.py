"""Who came to a conclusion, and when."""

from typing import NamedTuple

import msgspec

from perdure.records.person import Reconstruction


class Curation(NamedTuple):
    """A curator, by an identifier that leads to them; or an algorithm, by its name and version."""

    curator_id: str
    timestamp: str
    curator_name: str | None = None
    algorithm_version: str | None = None
    activity: str | None = None

    def of(self, made: Reconstruction) -> Reconstruction:
        """The same conclusion, as this curator's."""
        return msgspec.structs.replace(made, **self._asdict())
