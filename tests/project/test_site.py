"""The docs site has every page and only links that lead somewhere; `make docs` builds it with Sphinx."""

from pathlib import Path

import pytest

from docs.tools import book, build_site, links, reference

ROOT = Path(__file__).parents[2]


def test_every_page_of_the_docs_has_one_place_on_the_site() -> None:
    listed = [page for section in build_site.sections() for page in section.pages]
    there = {str(path.relative_to(ROOT)) for kind in ("md", "ipynb") for path in ROOT.glob(f"docs/**/*.{kind}")}
    assert sorted(there - set(listed)) == [], "give it a place in docs/site/nav.yaml"
    assert len(listed) == len(set(listed))
    assert len({build_site.place(page) for page in listed}) == len(listed)
    assert [page for page in listed if page not in build_site.GENERATED and not (ROOT / page).is_file()] == []


@pytest.fixture
def stage(tmp_path: Path) -> build_site.Stage:
    return build_site.Stage(tmp_path)


@pytest.mark.parametrize(
    ("page", "before", "after"),
    [
        ("README.md", "[a](docs/api.md#languages)", "[a](api.md#languages)"),
        ("docs/python.md", "[a](notebooks/quick-look.ipynb)", "[a](notebooks/quick-look.md)"),
        ("docs/adr/0002-libraries.md", "[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
        ("docs/training.md", "[`a`](../training/recipe.py)", '<a href="files/training/recipe.py.txt">`a`</a>'),
        ("docs/training.md", "[the recipes](../training/recipes/)", "the recipes"),
        ("README.md", "![a](docs/images/page.png)", "![a](images/page.png)"),
        ("README.md", "[a](https://arxiv.org) [b](#words)", "[a](https://arxiv.org) [b](#words)"),
        ("docs/api.md", "[settings.md](settings.md)", "[Settings](settings.md)"),
        ("README.md", "[docs/python.md](docs/python.md)", "[From Python](python.md)"),
        ("README.md", "[Begin](generated/start.md)", "[Begin](getting-started.md)"),
        ("README.md", "`[a](docs/api.md)`", "`[a](docs/api.md)`"),
        ("README.md", "```\n[a](docs/api.md)\n```", "```\n[a](docs/api.md)\n```"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(
    stage: build_site.Stage, page: str, before: str, after: str
) -> None:
    assert stage._linked(before, page) == after


def test_the_home_page_is_short_and_leads_to_every_section_and_to_the_rest_of_the_readme(
    stage: build_site.Stage,
) -> None:
    whole, begin = stage.page("README.md"), stage.page(build_site.START)
    assert all(f":caption: {section.title}\n" in whole for section in build_site.sections())
    home = whole.partition("```{toctree}")[0]
    assert len(home.splitlines()) < 45
    assert "](getting-started.md)" in home
    assert begin.startswith("# Getting started\n\nYou need Python")
    assert build_site.sections()[0].pages[0] == build_site.START


def test_a_page_of_the_book_comes_with_its_outputs() -> None:
    page = book.pages()[1]
    text = book.for_site(page)
    assert text.count("<svg") == (book.BUILT / f"{page.name}.html").read_text("utf-8").count("<svg")
    assert "$" not in text.split("```")[0]
    assert "def pooling_weights" in text


def test_a_page_without_outputs_stands_beside_those_of_the_book(stage: build_site.Stage) -> None:
    assert stage.page("docs/learn/history.md").startswith("# ")


def test_the_reference_has_every_route_command_and_public_name() -> None:
    http = reference.http()
    assert "### POST /translate\n" in http
    assert "| `beam_size` | integer from 1 to 8 |" in http
    import translucent_mt

    named = {name for names in reference.PYTHON.values() for name in names}
    assert named == set(translucent_mt.__all__)
    assert "`translucent serve`" in reference.commands()


def test_a_dead_link_and_a_file_of_another_host_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org">4</a><script src="https://cdn.example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#top">1</a><img src="gone.png"></p>')
    (tmp_path / "style.css").write_text("@import 'https://fonts.example.org/css';")
    assert sorted(links.problems(tmp_path)) == [
        "a.html: b.html#gone names a heading that is not there",
        "a.html: c.html leads nowhere",
        "a.html: loads https://cdn.example.org/x.js",
        "b.html: gone.png leads nowhere",
        "style.css: loads something from elsewhere",
    ]
