"""The NVIDIA driver is checked at the start, with one clear line."""

import pytest

from service.server.main import driver_warning


@pytest.mark.parametrize(
    ("version", "warned"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\nGCC version: gcc 12.2.0", True),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\nGCC version: 13.3.0",
            False,
        ),
        ("", False),
    ],
)
def test_an_old_driver_is_named_with_what_is_needed(version: str, warned: bool) -> None:
    warning = driver_warning(version)
    assert (warning is not None) == warned
    assert not warned or warning == "The NVIDIA driver 570.86 is too old: models run on a GPU with driver 580 or newer."
