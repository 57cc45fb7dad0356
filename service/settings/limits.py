"""Settings of access (API keys, tokens, rate limits, proxies, CORS), and limits of requests, documents and jobs.

Limits that nobody changes are constants where they apply. A secret is a SecretStr, so no message and no `repr` shows
it. It can also be read from a file, which the variable of the same name that ends with `_FILE` names.
"""

import re
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from service.access.addresses import parse_networks

PREFIX = "TRANSLUCENT_"
TOKEN_LENGTH = 16  # least characters of a token
TOKEN = re.compile(rf"[!-~]{{{TOKEN_LENGTH},}}", re.ASCII)  # the characters that a header can hold
TOKEN_ACCEPTED = (
    f"at least {TOKEN_LENGTH} letters, digits and signs without spaces, for example the output of "
    "`openssl rand -hex 32`"
)
LIMITS_ACCEPTED = "a number and `/second`, `/minute`, `/hour` or `/day`; several are separated by `;`"


def setting(
    default: Any, description: str, accepted: str | None = None, *, shown: str | None = None, **more: Any
) -> Any:
    """Return a field: its meaning, what it accepts if its type does not say so, and how its default is shown."""
    secret = isinstance(default, SecretStr)
    extra: dict[str, Any] = {"accepted": accepted, "default": shown, "secret": secret}
    if isinstance(default, float):
        more["allow_inf_nan"] = False
    return Field(
        default, description=description, json_schema_extra=extra, validate_default=True, repr=not secret, **more
    )


def seconds(default: float, description: str) -> Any:
    """Return a field that holds a time in seconds."""
    return setting(default, description, gt=0, le=3600)


def variable(field: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + field.upper()


class AccessSettings(BaseSettings):
    """API keys, tokens, rate limits, proxies and CORS."""

    cors_origin: str = setting(
        "*",
        "Origin whose pages may call the API from a browser (`Access-Control-Allow-Origin`)",
        "`*` or one origin",
        min_length=1,
    )
    api_keys_file: Path | None = setting(
        None,
        "File of API keys, written by `translucent keys add NAME`; a running server reads changes to it",
        "a file",
        shown="none",
    )
    require_key: bool = setting(
        False,
        "Require an API key for every route except the health probes, `/languages`, `/frontend/settings`, the page and "
        "the docs",
        "true or false; true needs TRANSLUCENT_API_KEYS_FILE",
    )
    metrics_token: SecretStr = setting(
        SecretStr(""),
        "Token that `/metrics` requires instead of an API key (`Authorization: Bearer TOKEN`)",
        TOKEN_ACCEPTED,
        shown="none",
    )
    admin_token: SecretStr = setting(
        SecretStr(""),
        "Token that is required to load, unload and add models over HTTP (`/v2/repository`, the page's Models); these "
        "routes answer 403 without it",
        TOKEN_ACCEPTED,
        shown="none",
    )
    rate_limit: str = setting(
        "",
        "Rate limit of each address for requests without an API key, such as `10/second;300/minute`; requests above it "
        "get 429",
        LIMITS_ACCEPTED,
        shown="none",
    )
    key_rate_limit: str = setting(
        "", "Rate limit of each API key; requests above it get 429", LIMITS_ACCEPTED, shown="none"
    )
    trusted_proxies: str = setting(
        "",
        "Addresses and networks of proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` are trusted, "
        "separated by commas",
        "addresses and networks such as `10.0.0.0/8,::1`",
        shown="none",
    )

    @field_validator("metrics_token", "admin_token")
    @classmethod
    def _token(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value() and not TOKEN.fullmatch(value.get_secret_value()):
            raise ValueError("it is too short, or has characters that a header cannot hold")
        return value

    @field_validator("rate_limit", "key_rate_limit")
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


class LimitSettings(AccessSettings):
    """How large, how many and how long requests, connections, documents and jobs may be."""

    body_limit: int = setting(1_048_576, "Largest request body, in bytes; a larger body gets 413", ge=1024)
    character_limit: int = setting(
        100_000, "Most characters in one text; the limit applies to each text of a list", ge=1
    )
    request_timeout_seconds: float = seconds(
        120.0,
        "Time for a whole request from the end of its headers: body, queue, translation and drawing; after it the "
        "answer is 504",
    )
    max_file_mb: int = setting(
        10,
        "Largest document (`/translate_file`, `/jobs`), in MiB; a larger document gets 413. With 0 these routes answer "
        "403",
        ge=0,
        le=1024,
    )
    jobs_dir: Path | None = setting(
        None,
        "Folder of jobs: documents and their translations, which only the server's user can read. Jobs in it survive a "
        "restart, and processes that share it share the jobs. Without it they are in a temporary folder that the "
        "server removes when it stops",
        "a folder",
        shown="a temporary folder",
    )
