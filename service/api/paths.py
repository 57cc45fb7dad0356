"""Paths by access: public ones, those for operators, and LibreTranslate's."""

PUBLIC = frozenset(
    {
        *("/", "/docs", "/docs/", "/learn", "/openapi.json", "/spec", "/favicon.ico", "/languages"),
        *("/frontend/settings", "/health", "/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"),
    }
)
# The address of a translated file is a secret of 128 random bits, as with LibreTranslate, whose clients send no key.
PUBLIC_FOLDERS = ("/web/", "/learn/", "/download_file/")
METRICS = "/metrics"
UPLOADS = frozenset({"/translate_file", "/jobs"})  # their bodies hold a document
ADMIN = "/v2/repository/"

# LibreTranslate's own routes, whose clients expect its statuses; on all other routes a missing key is a 401.
DIALECT = frozenset({"/translate", "/detect", "/translate_file", "/suggest"})


def is_public(path: str) -> bool:
    """Return whether a path needs neither key nor token."""
    return path in PUBLIC or path.startswith(PUBLIC_FOLDERS)


def is_operators(path: str) -> bool:
    """Return whether a path is for the operator's programs, and not for pages of other sites in a browser."""
    return path == METRICS or path.startswith(ADMIN)
