"""Addresses of private networks, in every form in which IPv6 can hide them."""

import pytest

from perdure.records.network_address import is_private

PRIVATE = (
    "0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.168.0.1 224.0.0.1 255.255.255.255 "
    ":: ::1 ::127.0.0.1 ::ffff:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1 2002:7f00:1:: "
    "2002:a00:1:: fc00::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2001:db8::1"
)
PUBLIC = "8.8.8.8 150.163.34.243 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808:: 2606:4700::1111"


@pytest.mark.parametrize("address", PRIVATE.split())
def test_an_address_that_is_not_public_is_private(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_an_address_of_the_public_internet_is_not_private(address: str) -> None:
    assert not is_private(address)
