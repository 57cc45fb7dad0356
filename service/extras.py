"""How libraries that are optional are installed: the extras of pyproject.toml."""


def installation(extra: str) -> str:
    """Return the command that adds an extra, from the clone: the package is on no index."""
    return f"pip install '.[{extra}]' in the clone of Translucent"
