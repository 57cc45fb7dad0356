"""Ask the server of this container whether it is ready: `python -m service.cli.probe`, exit code 0 or 1.

This uses only the standard library, because base images have no curl and it runs every few seconds.
"""

import http.client
import os
import sys

TIMEOUT_SECONDS = 2.0
DEFAULT_PORT = "8000"


def ready(port: int) -> bool:
    """Return whether the server on this machine's `port` answers that it is ready; False if there is no server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main() -> int:
    """Return the exit code: 0 if ready, 1 if not."""
    return 0 if ready(int(os.environ.get("TRANSLUCENT_PORT", DEFAULT_PORT))) else 1


if __name__ == "__main__":
    sys.exit(main())
