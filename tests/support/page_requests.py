"""The requests of the page while a test drives it."""

from playwright.sync_api import Page, Request

Bodies = list[tuple[str, dict[str, object]]]


def posted(page: Page) -> Bodies:
    """Return a list that receives the last part of each address that the page posts to, with the body."""
    found: Bodies = []

    def note(request: Request) -> None:
        is_json = request.headers.get("content-type", "").startswith("application/json")  # a file is sent in a form
        if request.method == "POST" and is_json and isinstance(request.post_data_json, dict):
            found.append((request.url.rsplit("/", 1)[1], request.post_data_json))

    page.on("request", note)
    return found
