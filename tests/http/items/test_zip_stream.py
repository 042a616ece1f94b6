"""A zip file that is made while it is sent is read back with the same files, also by another program."""

import asyncio
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.errors import StoreDamaged
from perdure.http.items.zip_stream import ZipEntry, stream_zip

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\\\0:"), min_size=1, max_size=20)
MOMENT = (2026, 2, 10, 12, 0, 0)


async def collect(entries: list[ZipEntry], moment: tuple[int, int, int, int, int, int] = MOMENT) -> bytes:
    return b"".join([piece async for piece in stream_zip(entries, moment)])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAMES, st.binary(max_size=600_000), max_size=4))
def test_every_file_is_read_back(tmp_path: Path, files: dict[str, bytes]) -> None:
    entries = []
    for number, (name, content) in enumerate(files.items()):
        (tmp_path / str(number)).write_bytes(content)
        entries.append(ZipEntry(f"item/{name}", len(content), tmp_path, tmp_path / str(number)))
    with zipfile.ZipFile(io.BytesIO(asyncio.run(collect(entries)))) as archive:
        assert archive.testzip() is None
        assert {name.removeprefix("item/"): archive.read(name) for name in archive.namelist()} == files


def test_a_date_before_1980_is_written_as_the_earliest_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    entries = [ZipEntry("a", 1, tmp_path, tmp_path / "a")]
    with zipfile.ZipFile(io.BytesIO(asyncio.run(collect(entries, (1961, 1, 1, 0, 0, 0))))) as archive:
        assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)


def test_a_file_that_has_another_size_ends_the_zip_file_early(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(StoreDamaged):
        asyncio.run(collect([ZipEntry("a", 4, tmp_path, tmp_path / "a")]))
