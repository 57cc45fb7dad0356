"""Makes the HTML of a page of the book: Markdown, formulas and coloured code."""

import html
import io
import keyword
import re
import tokenize

DISPLAY = re.compile(r"^\$\$\n(.*?)\n\$\$\n", re.M | re.S)
INLINE = re.compile(r"(?<![\\$`])\$([^$`]+?)\$")
LIVE = re.compile(r"\]\(http://localhost:8000/([^)\s]*)\)")
PAGE = re.compile(r"\]\(([0-9]{2}-[a-z-]+)\.md\)")


def with_places(body: str) -> str:
    """Return a page whose headings are places to link to."""
    return re.sub("<h2>(.*?)</h2>", lambda found: f'<h2 id="{place(found[1])}">{found[1]}</h2>', body)


def place(heading: str) -> str:
    """Return the name of a heading in addresses."""
    return "-".join(re.findall("[a-z0-9]+", re.sub("<.*?>", "", heading).lower()))


def coloured(code: str) -> str:
    """Return Python as HTML: keywords in <b>, comments in <i>, strings in <i class=s>."""
    starts = [0]
    for line in code.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    parts, at = [], 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        tag = {tokenize.COMMENT: "i", tokenize.STRING: "i class=s"}.get(token.type, "")
        if tag or keyword.iskeyword(token.string):
            begin, end = (starts[line - 1] + column for line, column in (token.start, token.end))
            parts += [code[at:begin], f"\ue002{tag or 'b'}\ue003", code[begin:end], f"\ue002/{(tag or 'b')[0]}\ue003"]
            at = end
    return html.escape("".join([*parts, code[at:]]), quote=False).replace("\ue002", "<").replace("\ue003", ">")


def joined(output: str) -> str:
    """Return HTML without empty lines, which would end it for Markdown."""
    return re.sub(r"\n\s*\n", "\n", output)


def markdown_html(text: str) -> str:
    """Return Markdown as HTML; blocks of HTML in it stay as they are."""
    from markdown_it import MarkdownIt

    kept: list[str] = []

    def as_block(content: str) -> str:
        kept.append(content)
        return f'\n<div data-kept="{len(kept) - 1}"></div>\n'

    def as_letters(content: str) -> str:
        kept.append(content)
        return f"\ue000{len(kept) - 1}\ue001"

    text = re.sub(r"<pre.*?</pre>|<figure.*?</figure>", lambda found: as_block(found.group()), text, flags=re.S)
    text = DISPLAY.sub(lambda found: as_block(mathml(found.group(1), "block")) + "\n", text)
    text = INLINE.sub(lambda found: as_letters(mathml(found.group(1), "inline")), text)
    text = PAGE.sub(r"](\1.html)", LIVE.sub(r"](../\1)", text))
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    markdown.add_render_rule("softbreak", lambda *_: " ")
    rendered: str = markdown.render(text)
    rendered = rendered.replace('<pre><code class="language-text">', '<pre class="drawing" tabindex="0"><code>')
    return re.sub(
        '<div data-kept="(\\d+)"></div>|\ue000(\\d+)\ue001',
        lambda found: kept[int(found.group(1) or found.group(2))],
        rendered,
    )


def mathml(formula: str, display: str) -> str:
    """Return a LaTeX formula as MathML."""
    from latex2mathml.converter import convert

    markup = str(convert(formula, display=display)).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    letters = re.sub(r"&#x([0-9A-F]+);", lambda found: html.escape(chr(int(found.group(1), 16))), markup)
    return letters.replace(' stretchy="false"', "") if display == "inline" else letters


def tidy(body: str) -> str:
    """Return HTML with a line for a paragraph, a row of a table, a list or an answer; code stays as it is."""
    parts = re.split("(<pre.*?</pre>)", body, flags=re.S)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"\n+(?=</?t[dh]\b|</tr|</?t(?:head|body|able)\b|</?li|</[uo]l|</details|$)", "", parts[at])
        parts[at] = re.sub(r"(</summary>)\n+", r"\1", re.sub(r"\n\n+", "\n", parts[at]))
    return "".join(parts)


def document(title: str, body: str, mark: str) -> str:
    """Return a page, to which the service adds the frame; `mark` is a digest of its sources."""
    return f"""<title>{html.escape(title)}</title>
{mark}
<main lang="en" translate="no">
{tidy(body)}
</main>
"""
