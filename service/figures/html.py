r"""A figure as one HTML file that needs nothing else: the specification, the script that draws it, and a table.

Two rules keep texts of users from being read as markup: texts in HTML are escaped, and texts in a script have their
`<`, `>`, `&` and line separators only as \u escapes.
"""

import base64
import functools
import hashlib
import json
import math
from html import escape
from typing import Any

from service.figures.panels import Figure, Panel
from service.figures.theme import FONT, THEMES, ThemeName
from service.figures.words import CAUTION, translated_label

_IN_SCRIPTS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# The policy of a file: only these scripts, identified by their digests, and styles.
POLICY = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
body {{ margin: 0; padding: 1rem; background: {background}; color: {ink}; font: 15px/1.5 {font}; }}
#figure {{ overflow-x: auto; }}
p, summary {{ color: {muted}; max-width: 70ch; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.15rem 0.5rem; text-align: right; border-bottom: 1px solid {muted}; font-weight: normal; }}
caption {{ text-align: left; padding: 0.4rem 0; }}
.scroll {{ overflow-x: auto; }}
"""
# The interpreter (ast) evaluates expressions without eval, as a strict policy requires.
_DRAW = """
const specification = JSON.parse(document.getElementById("specification").textContent);
vegaEmbed("#figure", specification, {renderer: "svg", ast: true, actions: false});
"""


def in_script(value: object) -> str:
    """Return JSON that is safe inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_IN_SCRIPTS)


def as_html(figure: Figure, spec: dict[str, Any], library: bytes, theme_name: ThemeName) -> bytes:
    """Return the whole file; `library` is the script that defines vegaEmbed."""
    theme = THEMES[theme_name]
    style = _STYLE.format(background=theme.background, ink=theme.ink, muted=theme.muted, font=FONT)
    script, policy = _library(library)
    title = escape(" ".join(figure.title))
    tables = "\n".join(_table(panel) for panel in figure.panels)
    return f"""<!doctype html>
<html lang="{figure.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<div id="figure" role="img" aria-label="{escape(str(spec["description"]))}"></div>
<p>{translated_label(CAUTION, figure.language)}</p>
<details><summary>{translated_label("The same as a table", figure.language)}</summary>
{tables}
</details>
</main>
<script type="application/json" id="specification">{in_script(spec)}</script>
<script>{script}</script>
<script>{_DRAW}</script>
</body>
</html>
""".encode()


@functools.lru_cache(1)
def _library(library: bytes) -> tuple[str, str]:
    """Return the script in a form that is safe in HTML, and the policy that allows it and our script."""
    script = library.decode("utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # as browsers read it before they compute its digest
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, _DRAW))
    return script, POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))


def _table(panel: Panel) -> str:
    head = "".join(f'<th scope="col"><bdi>{escape(column)}</bdi></th>' for column in panel.columns)
    body = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(row)}</bdi></th>'
        + "".join(f"<td>{'–' if math.isnan(weight) else f'{weight:.3f}'}</td>" for weight in weights)
        + "</tr>"
        for row, weights in zip(panel.rows, panel.weights.tolist(), strict=True)
    )
    caption = escape(panel.title or f"{panel.row_title} × {panel.column_title}")
    return (
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
