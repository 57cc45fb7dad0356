"""Settings that have a new name. Each old name works for one version, with a warning.

Remove an entry in the version after the one that CHANGELOG.md names it in.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.settings.fields import PREFIX

# Old variable → new variable.
RENAMED = {
    PREFIX + old: PREFIX + new
    for old, new in {
        "THREADS": "INTRA_THREADS",
        "DECODERS": "INTER_THREADS",
        "WEIGHT_LIMIT": "ATTENTION_WEIGHT_LIMIT",
        "DRAIN_SECONDS": "DRAIN_TIMEOUT_SECONDS",
        "FAILURE_LIMIT": "AUTH_FAILURE_LIMIT",
    }.items()
}


def old_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the old variables that are set, each with its value."""
    upper = {name.upper(): value for name, value in environment.items()}
    return {old: upper[old] for old in RENAMED if old in upper}


def values_by_field(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are set under old names, by the name of the field."""
    return {RENAMED[old].removeprefix(PREFIX).lower(): value for old, value in old_names(environment).items()}


def conflicts(environment: Mapping[str, str]) -> list[str]:
    """Return one message for each setting whose old and new variable hold different values."""
    upper = {name.upper(): value for name, value in environment.items()}
    return [
        f"{old}={value!r} and {RENAMED[old]}={upper[RENAMED[old]]!r} are one setting and differ; "
        f"remove {old}, which is the old name."
        for old, value in old_names(environment).items()
        if upper.get(RENAMED[old], value) != value
    ]


def renaming_warnings(environment: Mapping[str, str]) -> list[str]:
    """Return one line for each old variable that is set."""
    return [
        f"{old} is now {RENAMED[old]}. The old name still works, but the next version will not accept it."
        for old in old_names(environment)
    ]
