"""The values that Ray gets, because it shows them all."""

import pytest

from deploy.ray.environment import SECRETS, passed_on
from service.settings import Settings, variable


def test_settings_are_handed_on_and_nothing_else() -> None:
    settings = {
        "TRANSLUCENT_INTRA_THREADS": "2",
        "TRANSLUCENT_ADMIN_TOKEN_FILE": "/run/secrets/admin",
        "TRANSLUCENT_ADMIN_TOKEN": "",
        "TRANSLUCENT_RATE_LIMIT_STORAGE": "redis://redis:6379/0",
        "OTEL_SERVICE_NAME": "translucent",
    }
    assert passed_on({**settings, "HOME": "/root", "AWS_SECRET_ACCESS_KEY": "s3cret"}) == settings


HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


@pytest.mark.parametrize("name", [*SECRETS, *HEADERS])
def test_a_secret_is_refused_without_being_shown(name: str) -> None:
    value = "redis://:s3cret@redis:6379/0" if name.endswith("_STORAGE") else "authorization=s3cret-s3cret-s3cret"
    with pytest.raises(SystemExit) as refused:
        passed_on({name: value})
    assert name in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_every_secret_setting_is_known_there() -> None:
    secret = {variable(name) for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    assert set(SECRETS) == secret
