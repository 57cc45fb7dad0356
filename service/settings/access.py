"""Settings of access: API keys, tokens, rate limits, proxies and CORS.

A secret is a SecretStr, so no message and no `repr` shows it. It can also be read from a file: the setting of the same
name that ends with `_file`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from service.access.addresses import parse_networks
from service.settings.fields import optional, setting, variable

TOKEN_LENGTH = 16  # least characters of a token
TOKEN = re.compile(rf"[!-~]{{{TOKEN_LENGTH},}}", re.ASCII)  # the characters that a header can hold
TOKEN_ACCEPTED = (
    f"at least {TOKEN_LENGTH} letters, digits and signs without spaces, for example the output of "
    "`openssl rand -hex 32`"
)
STORAGE = re.compile(r"memory://|rediss?://\S+")
LIMITS_ACCEPTED = "a number and `/second`, `/minute`, `/hour` or `/day`; several are separated by `;`"
SECRET_FILE_LIMIT = 4096  # bytes


class AccessSettings(BaseSettings):
    """API keys, tokens, rate limits, proxies and CORS."""

    cors_origin: str = setting(
        "*",
        "Origin whose pages may call the API from a browser (`Access-Control-Allow-Origin`)",
        "`*` or one origin",
        min_length=1,
    )
    api_keys_file: Path | None = optional(
        None,
        "File of API keys, written by `translucent keys add NAME`; a running server reads changes to it",
        "a file",
    )
    require_key: bool = setting(
        False,
        "Require an API key for every route except the health probes, `/languages`, `/frontend/settings`, the page and "
        "the docs",
        "true or false; true needs TRANSLUCENT_API_KEYS_FILE",
        validate_default=True,
    )
    metrics_token_file: Path | None = optional(None, "File that holds TRANSLUCENT_METRICS_TOKEN", "a file")
    metrics_token: SecretStr = optional(
        SecretStr(""),
        "Token that `/metrics` requires instead of an API key (`Authorization: Bearer TOKEN`)",
        TOKEN_ACCEPTED,
        secret=True,
    )
    admin_token_file: Path | None = optional(None, "File that holds TRANSLUCENT_ADMIN_TOKEN", "a file")
    admin_token: SecretStr = optional(
        SecretStr(""),
        "Token that is required to load and unload models over HTTP (`/v2/repository`); without it these routes answer "
        "403",
        TOKEN_ACCEPTED,
        secret=True,
    )
    rate_limit: str = optional(
        "",
        "Rate limit of each address for requests without an API key, such as `10/second;300/minute`; requests above it "
        "get 429",
        LIMITS_ACCEPTED,
    )
    key_rate_limit: str = optional("", "Rate limit of each API key; requests above it get 429", LIMITS_ACCEPTED)
    auth_failure_limit: str = setting(
        "20/minute",
        "Wrong keys and tokens that one address may send before it gets 429; applies even if no other limit is set",
        LIMITS_ACCEPTED,
        min_length=1,
    )
    rate_limit_storage_file: Path | None = optional(None, "File that holds TRANSLUCENT_RATE_LIMIT_STORAGE", "a file")
    rate_limit_storage: SecretStr = optional(
        SecretStr("memory://"),
        "Where requests are counted: `memory://` counts in each process, a Redis server counts for all replicas "
        "together",
        "memory:// or an address that begins with redis:// or rediss://",
        shown="memory://",
        secret=True,
    )
    trusted_proxies: str = optional(
        "",
        "Addresses and networks of proxies whose `X-Forwarded-For` is trusted, separated by commas",
        "addresses and networks such as `10.0.0.0/8,::1`",
    )

    @field_validator("metrics_token_file", "admin_token_file", "rate_limit_storage_file")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None:
            read_secret(value)
        return value

    @field_validator("metrics_token", "admin_token", "rate_limit_storage", mode="before")
    @classmethod
    def _from_file(cls, value: Any, info: ValidationInfo) -> Any:
        path = info.data.get(f"{info.field_name}_file")
        if path is None:
            return value
        if value != cls.model_fields[str(info.field_name)].default:
            raise ValueError(f"{variable(str(info.field_name))} is given twice")
        return read_secret(path)

    @field_validator("metrics_token", "admin_token")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and not TOKEN.fullmatch(value.get_secret_value()):
            raise ValueError("it is too short, or has characters that a header cannot hold")
        return value

    @field_validator("rate_limit_storage")
    @classmethod
    def _storage(cls, value: SecretStr) -> SecretStr:
        if not STORAGE.fullmatch(value.get_secret_value()):
            raise ValueError("it names neither memory nor Redis")
        return value

    @field_validator("rate_limit", "key_rate_limit", "auth_failure_limit")
    @classmethod
    def _limits(cls, value: str) -> str:
        if value:
            # Imported late: the library takes as long as everything else that `translucent --help` needs.
            from service.access.limits import parse_limits

            parse_limits(value)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: str) -> str:
        parse_networks(value)
        return value

    @field_validator("require_key")
    @classmethod
    def _keys_for_require_key(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("api_keys_file") is None:
            raise ValueError("TRANSLUCENT_API_KEYS_FILE is not set")
        return value


def read_secret(path: Path) -> str:
    """Return the secret in a file, without surrounding white space; raise ValueError if there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(SECRET_FILE_LIMIT)
        secret = content.decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ValueError("it cannot be read") from None
    if not secret:
        raise ValueError("it is empty")
    return secret
