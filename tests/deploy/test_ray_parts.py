"""The values that Ray gets, because it shows them all; and the report of a bulk job about its workers."""

import pytest

from deploy.ray.environment import SECRETS, passed_on
from deploy.ray.shifts import Shifts
from service.settings import Settings, variable


def test_settings_are_handed_on_and_nothing_else() -> None:
    settings = {
        "TRANSLUCENT_INTRA_THREADS": "2",
        "TRANSLUCENT_ADMIN_TOKEN_FILE": "/run/secrets/admin",
        "TRANSLUCENT_ADMIN_TOKEN": "",
        "OTEL_SERVICE_NAME": "translucent",
    }
    assert passed_on({**settings, "HOME": "/root", "AWS_SECRET_ACCESS_KEY": "s3cret"}) == settings


HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


@pytest.mark.parametrize("name", [*SECRETS, *HEADERS])
def test_a_secret_is_refused_without_being_shown(name: str) -> None:
    value = "authorization=s3cret-s3cret-s3cret"
    with pytest.raises(SystemExit) as refused:
        passed_on({name: value})
    assert name in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_every_secret_setting_is_known_there() -> None:
    secret = {variable(name) for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    assert set(SECRETS) == secret


def test_each_batch_counts_once_and_shares_are_of_the_whole_time() -> None:
    shifts = Shifts()
    for worker, began, ended, processor, lines in [
        ("one:1", 100.0, 104.0, 3.0, 3),
        ("one:1", 104.0, 110.0, 6.0, 2),
        ("one:2", 101.0, 106.0, 5.0, 4),
    ]:
        for _ in range(lines):
            shifts.add_line({"worker": worker, "began": began, "ended": ended, "processor": processor})
    assert shifts.report() == {
        "working_seconds": 10.0,
        "workers": [
            {"worker": "one:1", "lines": 5, "occupied_share": 1.0, "processor_seconds": 9.0, "processor_share": 0.9},
            {"worker": "one:2", "lines": 4, "occupied_share": 0.5, "processor_seconds": 5.0, "processor_share": 0.5},
        ],
    }
    assert shifts.as_text().splitlines()[1] == ("one:2: 4 lines, busy 50% of the time, 5.0 s of processor time (50%)")


def test_no_lines_no_workers() -> None:
    assert Shifts().report() == {"working_seconds": 0.0, "workers": []}
