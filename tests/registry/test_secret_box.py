"""Secrets are sealed with a key outside the database, and can be opened only with that key and under their own name."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry_fixture import SEALER, Office, StoreFactory

from perdure.errors import InvalidInput, PerdureError, StoreDamaged, StoreUnavailable
from perdure.registry import Statement, export, mint, verify
from perdure.registry.secret_box import SEALING_KEY_ID, NoSealer, Sealer, open_secret, store_secret
from perdure.registry.store_interface import Transaction

SECRET = b"correct horse battery staple"
NAME = "12345/admin"
OTHER = Sealer(bytes(32))


def keep(office: Office, plain: bytes | None, sealer: Sealer = SEALER, name: str = NAME, index: int = 300) -> None:
    office.run(office.registry.store.write(lambda tx: store_secret(tx, sealer, name, index, plain)))


def open_stored(office: Office, sealer: Sealer = SEALER, name: str = NAME, index: int = 300) -> bytes | None:
    return office.read(lambda reader: open_secret(reader, sealer, name, index))


@pytest.fixture
def admin(office: Office) -> Office:
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["admin", "other"], statement=Statement("https://example.org/"))
    return office


@given(st.binary(max_size=2000), st.text(max_size=50))
def test_a_sealed_secret_can_be_opened(plain: bytes, context: str) -> None:
    context = context.encode("utf-8", "replace").decode()
    assert SEALER.open(SEALER.seal(plain, context), context) == plain


def test_sealing_a_secret_twice_gives_different_bytes() -> None:
    assert len({SEALER.seal(SECRET, NAME) for _ in range(100)}) == 100
    assert all(SECRET not in SEALER.seal(SECRET, NAME) for _ in range(10))


@pytest.mark.parametrize("context", ["12345/admin#301", "12345/other#300", ""])
def test_a_secret_opens_under_its_own_name_only(context: str) -> None:
    with pytest.raises(StoreDamaged):
        SEALER.open(SEALER.seal(SECRET, "12345/admin#300"), context)


def test_another_key_opens_no_secret_and_the_error_says_what_to_do() -> None:
    with pytest.raises(StoreDamaged, match=r"restore the file secrets\.key"):
        OTHER.open(SEALER.seal(SECRET, NAME), NAME)


def test_every_damaged_byte_is_noticed() -> None:
    sealed = SEALER.seal(SECRET, NAME)
    for position in range(len(sealed)):
        damaged = bytearray(sealed)
        damaged[position] ^= 1
        with pytest.raises(StoreDamaged):
            SEALER.open(bytes(damaged), NAME)


@pytest.mark.parametrize("length", range(30))
def test_a_truncated_secret_is_noticed(length: int) -> None:
    with pytest.raises(StoreDamaged):
        SEALER.open(SEALER.seal(b"", NAME)[:length][:28], NAME)


@pytest.mark.parametrize("key", [b"", b"x" * 16, b"x" * 33])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Sealer(key)
    assert refusal.value.part == "key"
    assert "xxx" not in str(refusal.value)


def test_neither_key_nor_secret_is_shown(office: Office) -> None:
    key = b"k" * 32
    for thing in (Sealer(key), office.registry._replace(sealer=Sealer(key))):
        assert "kkkk" not in repr(thing)
        assert key.hex() not in repr(thing)


def test_a_secret_is_stored_sealed_and_opened(admin: Office) -> None:
    keep(admin, SECRET)
    assert open_stored(admin) == SECRET
    [(key, index, sealed)] = admin.read(lambda reader: reader.secrets())
    assert (key, index) == (NAME, 300)
    assert SECRET not in sealed
    assert open_stored(admin, index=301) is None
    keep(admin, b"another")
    assert open_stored(admin) == b"another"
    keep(admin, None)
    assert open_stored(admin) is None


def test_a_sealed_secret_moved_to_another_name_does_not_open(admin: Office) -> None:
    """An attacker who can write to the database cannot become the administrator of another name."""
    keep(admin, SECRET)
    sealed = admin.read(lambda reader: reader.secret(NAME, 300))
    admin.run(admin.registry.store.write(lambda tx: tx.put_secret("12345/other", 300, sealed)))
    with pytest.raises(StoreDamaged):
        open_stored(admin, name="12345/other")


def test_the_database_has_the_id_of_the_key_and_not_the_key(admin: Office) -> None:
    assert admin.read(lambda reader: reader.fact(SEALING_KEY_ID)) is None
    keep(admin, SECRET)
    key_id = admin.read(lambda reader: reader.fact(SEALING_KEY_ID))
    assert key_id == SEALER.check(None) != OTHER.check(None)
    assert key_id is not None
    assert len(key_id) == 16
    assert key_id not in SEALER._key().hex()


def test_nothing_is_sealed_with_another_key_than_that_of_the_database(admin: Office) -> None:
    keep(admin, SECRET)
    for name in (NAME, "12345/other"):
        with pytest.raises(StoreDamaged, match=r"restore the file secrets\.key"):
            keep(admin, b"another", OTHER, name)
    assert open_stored(admin) == SECRET
    assert open_stored(admin, name="12345/other") is None
    keep(admin, None, OTHER)  # to remove one needs no key
    assert open_stored(admin) is None


def test_only_one_of_two_different_keys_can_seal_the_first_secret(admin: Office, store_factory: StoreFactory) -> None:
    stores, sealers = [admin.registry.store, store_factory()], [SEALER, OTHER]

    def work(number: int):
        def write(tx: Transaction) -> None:
            store_secret(tx, sealers[number], NAME, 300 + number, SECRET)

        return write

    async def both() -> list[Any]:
        return await asyncio.gather(*(stores[one].write(work(one)) for one in (0, 1)), return_exceptions=True)

    answers = admin.run(both())
    assert sorted(answer is None for answer in answers) == [False, True]
    [refusal] = [answer for answer in answers if answer is not None]
    assert isinstance(refusal, StoreDamaged)
    winner = answers.index(None)
    assert open_stored(admin, sealers[winner], index=300 + winner) == SECRET
    assert len(admin.read(lambda reader: reader.secrets())) == 1


def test_without_a_key_nothing_is_stored(admin: Office) -> None:
    with pytest.raises(StoreUnavailable, match="without a key"):
        keep(admin, SECRET, NoSealer())
    assert admin.read(lambda reader: (reader.secrets(), reader.fact(SEALING_KEY_ID))) == ([], None)
    keep(admin, SECRET)
    with pytest.raises(StoreUnavailable, match="without a key"):
        open_stored(admin, NoSealer())


def test_verify_opens_every_secret(admin: Office) -> None:
    keep(admin, SECRET)
    assert admin.ask(verify) == []
    wrong = admin.registry._replace(sealer=OTHER)
    assert [problem for problem in admin.run(verify(wrong)) if "another key" in problem]
    admin.run(admin.registry.store.write(lambda tx: tx.put_secret("12345/other", 300, b"damaged")))
    [problem] = admin.ask(verify)
    assert "12345/other#300" in problem


@pytest.mark.parametrize("format", ["ndjson", "csv", "batch", "handles"])
def test_no_export_contains_a_secret_sealed_or_not(admin: Office, format: str) -> None:
    keep(admin, SECRET)
    sealed = admin.read(lambda reader: reader.secret(NAME, 300))
    assert sealed is not None

    async def write_export() -> bytes:
        return b"".join([data async for _, data in export(admin.registry, admin.admin, format)])

    data = admin.run(write_export())
    key_id = SEALER.check(None).encode()
    for secret in (SECRET, sealed, sealed.hex().encode(), key_id):
        assert secret not in data


def test_an_error_names_the_value_and_never_the_secret(admin: Office) -> None:
    keep(admin, SECRET)
    with pytest.raises(PerdureError) as refusal:
        open_stored(admin, OTHER)
    assert f"{NAME}#300" in str(refusal.value)
    assert SECRET.decode() not in repr(refusal.value)
