"""Markdown, judged by what it is rendered as."""

import pytest
from markdown_it import MarkdownIt

from tests.support.documents import same, segments, through

TEXT = """---
title: A title
---
# Getting *started*

This is **bold**, _italic_ and ~~struck~~ text over
two lines, with `code_inline()`, `[^a-z]` and [a link](https://example.org/a_b "Title").
See [the manual][manual] or <https://example.org>.

> A quote that runs
> over two lines.

1. First item
   - Nested item with \\*stars\\*
2. Second item@@
   after a hard break

```python
print("not translated")
```

    indented code

| Name | Meaning |
|------|---------|
| key \\| lock | what opens |

A footnote[^1] and a box:

- [ ] to do

[^1]: The footnote.

{{< shortcode >}}

<div>
{{< figure src="a" >}}
</div>

<details><summary>More <b>here</b></summary></details>

Setext heading
==============

2 is a number, 5 * 3 < 20, a_b_c and AT&amp;T.

[manual]: https://example.org/manual
""".replace("@@", "  ")


def html(text: str) -> str:
    body = text.split("---\n", 2)[-1] if text.startswith("---") else text
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))


def flat(text: str) -> str:
    """Return HTML without the line breaks that a browser shows as spaces."""
    return " ".join(html(text).split())


def test_markdown_without_translation_stays_byte_for_byte() -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), "", "\n", "no end"):
        assert through("a.md", text.encode(), same).decode() == text


def test_markdown_that_is_written_anew_is_rendered_the_same() -> None:
    written = through("a.md", TEXT.encode(), lambda fragment: f"{fragment}<b></b>").decode()
    assert flat(written).replace("<b></b>", "") == flat(TEXT)


def test_words_are_translated_in_their_places() -> None:
    written = through("a.md", TEXT.encode()).decode()
    for expected in (
        "title: A TITLE",
        "# GETTING *STARTED*",
        "**BOLD**, _ITALIC_ AND ~~STRUCK~~ TEXT OVER TWO LINES",
        "`code_inline()`, `[^a-z]`",
        '[A LINK](https://example.org/a_b "TITLE")',
        "[THE MANUAL][manual] OR <https://example.org>",
        "> A QUOTE THAT RUNS OVER TWO LINES.",
        "   - NESTED ITEM WITH \\*STARS\\*",
        "2. SECOND ITEM  \n   AFTER A HARD BREAK",
        'print("not translated")',
        "\n    indented code\n",
        "| KEY \\| LOCK | WHAT OPENS |",
        "A FOOTNOTE[^1] AND A BOX:",
        "- [ ] TO DO",
        "[^1]: THE FOOTNOTE.",
        "<summary>MORE <b>HERE</b></summary>",
        "SETEXT HEADING\n======",
        "[manual]: https://example.org/manual",
    ):
        assert expected in written


@pytest.mark.parametrize(
    "text", ["1. Mai", "- nein", "# Titel", "> x", "a *b* c_ _d", "[x](y)", "<b>", "1986) a", "+ 1", "=", "| a |"]
)
def test_a_translation_that_looks_like_markup_is_shown_as_it_is(text: str) -> None:
    written = through("a.md", b"Some words.\n", lambda _: text.replace("<", "&lt;")).decode()
    shown = html(written)
    assert shown == html("Some words.\n").replace("Some words.", text.replace("<", "&lt;").replace(">", "&gt;"))


def test_a_box_and_the_name_of_a_footnote_stay_before_their_text_and_a_mark_stays_at_its_word() -> None:
    text = b"- [ ] buy some milk\n- [x] **Open** it.\n\nHis keys.[^1] Then[^2] he left.\n\n[^1]: He found them.\n"
    assert segments("a.md", text) == [
        "buy some milk",
        "<b 0>Open</b> it.",
        "His keys.<wbr 0> Then<wbr 1> he left.",
        "He found them.",
    ]
    assert through("a.md", text, lambda fragment: f"- {fragment}").decode() == (
        "- [ ] - buy some milk\n- [x] - **Open** it.\n\n\\- His keys.[^1] Then[^2] he left.\n\n[^1]: - He found them.\n"
    )


def test_the_title_and_description_before_a_page_are_translated_unless_they_are_left_alone() -> None:
    for before, after in (
        (
            '---\ntitle: A title\ndate: 2026-01-01\ndescription: "Say \\"yes\\""\n---\n',
            '---\ntitle: A TITLE\ndate: 2026-01-01\ndescription: "SAY \\"YES\\""\n---\n',
        ),
        ("+++\ntitle = 'Its'  # note\ndraft = true\n+++\n", "+++\ntitle = 'ITS'  # note\ndraft = true\n+++\n"),
        ("---\ntitle: >\n  folded\nsub:\n  title: deep\n---\n", None),
    ):
        assert through("a.md", before.encode()).decode() == (after or before)
        assert through("a.md", before.encode(), metadata=False).decode() == before
    written = through("a.md", b"---\ntitle: A title\n---\n", lambda _: "Un titre : l'été #1").decode()
    assert written == '---\ntitle: "Un titre : l\'été #1"\n---\n'
