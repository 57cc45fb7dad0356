"""API keys: made once, shown once, kept as hashes in one JSON file.

A key is 256 random bits, so a plain SHA-256 of it cannot be searched for and no slow hash is needed. The file is
`{"keys": [{"name": …, "sha256": …, "created": …}]}`, readable by its owner only and always replaced as a whole.
"""

import asyncio
import fcntl
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from service.engine import in_daemon_thread
from service.logs import describe_exception, get_logger
from service.whole_file import write_whole

log = get_logger(__name__)

PREFIX = "tl_"  # lets scanners for leaked secrets recognise a key
NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}", re.ASCII)
READ_SECONDS = 1.0  # the longest that a request waits for the file
CHECK_SECONDS = 1.0  # the longest until a server notices that the file has changed


class KeyFileError(Exception):
    """The file cannot be used, or cannot be changed in this way; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The record of a key."""

    name: str
    sha256: str  # of the key, in hexadecimal
    created: str  # ISO 8601, UTC


def digest(key: str) -> str:
    """Return the hash that is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path) -> list[ApiKey]:
    """Return all keys of a file; raise KeyFileError if it does not exist or cannot be read."""
    try:
        entries = json.loads(path.read_text("utf-8"))["keys"]
        return [ApiKey(str(entry["name"]), str(entry["sha256"]), str(entry["created"])) for entry in entries]
    except FileNotFoundError:
        raise KeyFileError(f"{path}: there is no such file; `translucent keys add NAME` creates it.") from None
    except OSError as error:
        raise KeyFileError(f"{path}: it cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError):
        raise KeyFileError(f"{path}: it is not a file of API keys.") from None


def add_key(path: Path, name: str) -> str:
    """Make a key for a new name and return it; it cannot be read again later. Raise KeyFileError."""
    if not NAME.fullmatch(name):
        raise KeyFileError("A name has 1 to 64 letters, digits and the characters . _ @ - only.")
    with _changing(path) as keys:
        if any(key.name == name for key in keys):
            raise KeyFileError(f"There is already a key named {name}; `translucent keys remove {name}` revokes it.")
        key = PREFIX + secrets.token_urlsafe(32)
        keys.append(ApiKey(name, digest(key), datetime.now(UTC).isoformat(timespec="seconds")))
    return key


def remove_key(path: Path, name: str) -> None:
    """Revoke a key; raise KeyFileError if there is none of that name."""
    read_keys(path)
    with _changing(path) as keys:
        kept = [key for key in keys if key.name != name]
        if len(kept) == len(keys):
            raise KeyFileError(f"There is no key named {name}.")
        keys[:] = kept


@contextmanager
def _changing(path: Path) -> Iterator[list[ApiKey]]:
    """Yield the keys of a file for a change, then replace the file; one process at a time may do so."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            keys = read_keys(path) if path.exists() else []
            yield keys
            _write(path, keys)
    except OSError as error:
        raise KeyFileError(f"{path}: it cannot be written ({error.strerror}).") from None


def _write(path: Path, keys: list[ApiKey]) -> None:
    text = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    write_whole(path, text.encode(), mode)


class KeyRing:
    """The keys of a running server, which reads changes of the file without a restart.

    If the file is gone, every key is revoked. If it cannot be read, the last good keys remain valid, because such a
    file is more often half-written than intended. `on_read` is called in both cases.
    """

    def __init__(
        self, path: Path, clock: Callable[[], float] = time.monotonic, on_read: Callable[[bool], None] = lambda _: None
    ) -> None:
        """Read the file; raise KeyFileError if that fails. Each later read calls `on_read` with its success."""
        self._path = path
        self._clock = clock
        self._on_read = on_read
        self._stamp = self._read_stamp()
        self._keys = read_keys(path)
        self._checked = clock()
        self._following = False
        self._on_read(True)

    def owner(self, key: str) -> str | None:
        """Return the name that a key belongs to; a wrong key takes as long as a right one."""
        offered = digest(key)
        key_owner = None
        for stored in self._keys:
            if hmac.compare_digest(stored.sha256, offered):
                key_owner = stored.name
        return key_owner

    async def reload_if_due(self) -> None:
        """Read the file again if a check is due; a file system that hangs delays only one caller, and not for long."""
        if self._following or self._clock() - self._checked < CHECK_SECONDS:
            return
        self._checked = self._clock()
        self._following = True
        try:
            async with asyncio.timeout(READ_SECONDS):
                await in_daemon_thread(self._reload_once, "api-keys")
        except TimeoutError:
            self._on_read(False)
            log.error(
                "the file of API keys does not answer; the keys that were read before remain valid",
                path=str(self._path),
            )

    def _reload_once(self) -> None:
        try:
            self.reload()
        finally:
            self._following = False

    def reload(self) -> None:
        """Read the file again if it has changed."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        if stamp is None:
            self._keys = []
            self._on_read(False)
            log.critical("the file of API keys is gone: every key is revoked until it is back")
            return
        try:
            self._keys = read_keys(self._path)
        except KeyFileError as error:
            self._on_read(False)
            log.error(
                "the file of API keys cannot be read; the keys that were read before remain valid",
                **describe_exception(error),
            )
        else:
            self._on_read(True)
            log.info("the file of API keys was read again", keys=len(self._keys))

    def _read_stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError:
            return (0, 0, 0)  # the file exists, but cannot be read
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
