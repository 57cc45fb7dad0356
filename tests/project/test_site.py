"""The docs site has every page and only links that lead somewhere; `make docs` builds it with Sphinx."""

from pathlib import Path

from docs.tools import build_site, links, reference
from tests.support.paths import ROOT


def test_every_page_of_the_docs_has_one_place_on_the_site() -> None:
    listed = [page for section in build_site.sections() for page in section.pages]
    there = {str(path.relative_to(ROOT)) for kind in ("md", "ipynb") for path in ROOT.glob(f"docs/**/*.{kind}")}
    assert sorted(there - set(listed)) == [], "give it a place in docs/site/nav.yaml"
    assert len(listed) == len(set(listed))
    assert len({build_site.place(page) for page in listed}) == len(listed)
    assert [page for page in listed if page not in build_site.GENERATED and not (ROOT / page).is_file()] == []


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
