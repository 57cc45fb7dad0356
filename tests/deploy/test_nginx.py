"""The example of a reverse proxy, run with Debian's nginx in front of the real server, over TLS."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from deploy.sources import ROOT
from tests.support.polling import wait_until
from tests.support.server import ServerProcess, free_port, running_dummy

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
EXAMPLE = (ROOT / "deploy/nginx/translucent.conf").read_text("utf-8")
NAME = "translate.example.org"
TEXT = {"q": "I lost my secret.", "source": "en", "target": "fr"}
SECONDS = 20.0
pytestmark = pytest.mark.skipif(
    NGINX is None or shutil.which("openssl") is None, reason="nginx or openssl is not installed (apt-get install nginx)"
)

# What a machine's own configuration has around the example; everything is written into the test's folder.
AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/translucent.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    folder: Path
    plain: int
    secure: int
    server: ServerProcess

    def client(self, address: str = "127.0.0.2") -> httpx.Client:
        """Return a client with its own address, which trusts the certificate of the test."""
        context = ssl.create_default_context(cafile=str(self.folder / "translucent.crt"))
        transport = _OnThisMachine(verify=context, local_address=address)
        return httpx.Client(transport=transport, base_url=f"https://{NAME}:{self.secure}", timeout=SECONDS)


class _OnThisMachine(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions["sni_hostname"] = request.url.host
        request.url = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(request)


def configured(folder: Path, plain: int, secure: int, behind: int) -> Path:
    """Write the example, with the ports and files of the test, and what is around it."""
    text = EXAMPLE
    for old, new in [
        ("    listen [::]:80;\n", ""),
        ("    listen [::]:443 ssl http2;\n", ""),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{secure} ssl"),
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{behind};"),
        ("/etc/nginx/translucent.", f"{folder}/translucent."),
        ("/var/log/nginx/", f"{folder}/"),
        ("client_header_timeout 15s;", "client_header_timeout 1s;"),
    ]:
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    (folder / "translucent.conf").write_text(text, "utf-8")
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user), "utf-8")
    return folder / "nginx.conf"


def make_certificate(folder: Path) -> None:
    """Sign a certificate for the name of the example with its own key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    command += ["-keyout", str(folder / "translucent.key"), "-out", str(folder / "translucent.crt")]
    subprocess.run(command, check=True, capture_output=True)


def listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    make_certificate(folder)
    settings = {"TRANSLUCENT_TRUSTED_PROXIES": "127.0.0.1", "TRANSLUCENT_RATE_LIMIT": "40/hour"}
    with running_dummy(0.3, "", **settings) as server:
        plain, secure = free_port(), free_port()
        file = configured(folder, plain, secure, server.address[1])
        command = [str(NGINX), "-p", str(folder), "-c", str(file), "-e", str(folder / "error.log")]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr + (folder / "error.log").read_text("utf-8")
        with subprocess.Popen(command) as process:
            try:
                wait_until(lambda: listens(secure), SECONDS, lambda: f"nginx does not listen: {process.poll()}")
                yield Proxy(folder, plain, secure, server)
            finally:
                process.terminate()
                process.wait(SECONDS)


def test_it_translates_over_tls_and_sends_others_there(proxy: Proxy) -> None:
    with proxy.client() as client:
        answer = client.post("/translate", json=TEXT)
        assert answer.json() == {"translatedText": "I LOST MY SECRET."}
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert "server" not in answer.headers or "/" not in answer.headers["server"]
        assert f"https://{NAME}:{proxy.secure}/translate" in client.get("/docs").text  # the address in its examples
        assert client.get("/").headers["content-type"].startswith("text/html")
    moved = httpx.post(f"http://127.0.0.1:{proxy.plain}/translate?a=b", headers={"Host": NAME}, json=TEXT)
    assert (moved.status_code, moved.headers["location"]) == (308, f"https://{NAME}/translate?a=b")


def test_the_address_of_a_translated_file_opens_although_the_port_is_not_443(proxy: Proxy) -> None:
    with proxy.client("127.0.0.9") as client:
        fields = {"source": "en", "target": "fr"}
        answer = client.post("/translate_file", data=fields, files={"file": ("a.txt", b"I lost my secret.")})
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(f"https://{NAME}:{proxy.secure}/download_file/")
        assert client.get(address).text == "I LOST MY SECRET."


def test_each_client_has_its_own_limit_and_cannot_claim_another_address(proxy: Proxy) -> None:
    with proxy.client("127.0.0.3") as client:
        claims = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(45)]
        fields = {**TEXT, "q": " "}
        statuses = {client.post("/translate", json=fields, headers=claim).status_code for claim in claims}
        assert statuses == {200, 429}
        refused = client.post("/translate", json=TEXT)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limit")
    with proxy.client("127.0.0.4") as client:
        assert client.post("/translate", json=TEXT).status_code == 200


def test_a_body_or_url_that_is_too_large_does_not_reach_the_server(proxy: Proxy) -> None:
    with proxy.client("127.0.0.5") as client:
        assert client.post("/translate", content=b" " * 1_100_000).status_code == 413
        assert client.get(f"/attention?text={'a' * 33_000}").status_code == 414
        almost = b" " * 1_040_000 + json.dumps(TEXT).encode()
        assert client.post("/translate", content=almost, headers={"content-type": "application/json"}).is_success


def test_what_is_the_operators_is_not_there(proxy: Proxy) -> None:
    with proxy.client("127.0.0.6") as client:
        assert client.get("/metrics").status_code == 404
        assert client.post("/v2/repository/index").status_code == 404
        assert client.get("/health/ready").status_code == 200
    assert httpx.get(f"{proxy.server.url}/metrics").status_code == 200


def test_a_client_that_says_nothing_is_not_waited_for(proxy: Proxy) -> None:
    context = ssl.create_default_context(cafile=str(proxy.folder / "translucent.crt"))
    with (
        socket.create_connection(("127.0.0.1", proxy.secure), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        assert connection.version() in {"TLSv1.2", "TLSv1.3"}
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        begun = time.monotonic()
        assert connection.recv(1000)[:12] in {b"", b"HTTP/1.1 408"}
        assert time.monotonic() - begun < SECONDS / 2


def test_the_log_of_the_proxy_holds_no_text(proxy: Proxy) -> None:
    with proxy.client("127.0.0.8") as client:
        answer = client.get("/attention", params={"text": "my secret", "source": "en", "target": "fr"})
    log = proxy.folder / "translucent.log"
    wait_until(lambda: answer.headers["x-request-id"] in log.read_text("utf-8"), SECONDS)
    assert re.search(r'"GET /attention" 200 ', log.read_text("utf-8"))
    assert "secret" not in log.read_text("utf-8")
