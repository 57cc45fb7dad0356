"""The book is sent by the service, to anybody, and links back to it."""

from tests.support.api_client import Client


async def test_the_book_is_sent_with_its_contents(client: Client) -> None:
    contents = await client.get("/learn", follow_redirects=True)
    assert contents.status_code == 200
    assert contents.url.path == "/learn/"
    assert 'href="01-pooling.html"' in contents.text
    page = await client.get("/learn/01-pooling.html")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "<math" in page.text
    assert 'href="../pooling?width=0.3&amp;format=svg"' in page.text


async def test_nothing_else_is_sent(client: Client) -> None:
    for path in ("/learn/nothing.html", "/learn/..%2Findex.html", "/learn/01-pooling.md"):
        assert (await client.get(path)).status_code == 404
