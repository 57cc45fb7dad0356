"""The words of a picture: its heading, and the notes that say what it shows."""

import numpy as np

from service.engine import AttentionMap, Selector
from service.figures.labels import clean, right_to_left, shorten
from service.figures.panels import Naming, Panel, ViewName, column_tokens

TITLE_LENGTH = 64


def beside(*parts: str) -> str:
    """Return the parts of a line that say something, with dots between them."""
    return "  ·  ".join(filter(None, parts))


def digest(attention: AttentionMap) -> str:
    """Return enough of a model's digest to identify it."""
    return attention.digest[:19]


def headline(attention: AttentionMap) -> tuple[str, ...]:
    """Return the two texts, on one line if they are short, or the one text of self-attention."""
    source, target = (
        shorten(clean(text).strip(), TITLE_LENGTH) for text in (attention.source_text, attention.target_text)
    )
    if attention.kind == "encoder":
        return (source,)
    if attention.kind == "decoder":
        return (target,)
    one_line = len(source) + len(target) <= TITLE_LENGTH // 2 and not right_to_left(source + target)
    return (f"{source}  →  {target}",) if one_line else (source, f"→  {target}")


def described(attention: AttentionMap, naming: Naming) -> str:
    """Return what a map shows, of which layer and head, and how much weight the end token has."""
    return beside(subject(attention), selection(attention, naming), _mass(attention))


def subject(attention: AttentionMap) -> str:
    """Return the kind of attention."""
    name = {
        "cross": "cross-attention",
        "encoder": "encoder self-attention",
        "decoder": "decoder self-attention",
        "occlusion": "occlusion: what a target token loses if a source word is removed",
    }[attention.kind]
    return name if attention.scores is None else f"{name}, scores before the softmax"


def selection(attention: AttentionMap, naming: Naming) -> str:
    """Return the layer and head of a map."""
    # Short, because each letter takes time to draw.
    if attention.kind == "occlusion":
        return ""
    if attention.layer == attention.head and attention.layer in ("mean", "all"):
        return {"mean": "mean of all heads", "all": "all heads"}[str(attention.layer)]
    aligning = naming.aligning.get(attention.model)
    layer, head = aligning if aligning is not None else (attention.layer, attention.head)
    chosen = (
        layer if attention.layer == "align" else attention.layer,
        head if attention.head == "align" else attention.head,
    )
    name = f"{_selector('layer', chosen[0])}, {_selector('head', chosen[1])}"
    if aligning is None or "align" not in (attention.layer, attention.head):
        return name
    if not attention.layer == attention.head == "align":
        return name
    return (
        f"{name} (alignment head, read one step later)" if attention.step == "consume" else f"{name} (alignment head)"
    )


def _selector(name: str, chosen: Selector) -> str:
    if chosen == "align":
        return f"alignment {name}"
    if isinstance(chosen, int):
        return f"{name} {chosen + 1}"  # people count from 1, the API from 0
    return f"mean of {name}s" if chosen == "mean" else f"all {name}s"


def legend(attention: AttentionMap, panel: Panel, view: ViewName, several: bool) -> str:
    """Return the score, and the legend for a reader of the picture."""
    score = score_note(attention) if attention.kind in ("cross", "occlusion") else ""
    axes = f"rows: {panel.row_title}, columns: {panel.column_title}" if several else ""
    marks = "outlined: aligned words" if panel.marked and view == "heatmap" else ""
    return beside(score, axes, marks, unknown_note(panel) if view == "heatmap" else "")


def score_note(attention: AttentionMap) -> str:
    """Return the score for a heading."""
    return f"score {attention.score:.2f}"


def unknown_note(panel: Panel) -> str:
    """Return the legend of rows without known weights, if there are any."""
    return "dashed: not known" if panel.unknown else ""


def _mass(attention: AttentionMap) -> str:
    """Return the share of weight on the end token, to which a head without a relevant token often attends."""
    if attention.kind == "occlusion" or attention.scores is not None:
        return ""
    columns = column_tokens(attention)
    special = [number for number, token in enumerate(columns) if token.special == "</s>"]
    if special:
        masses = attention.weights[..., special].sum(axis=-1)
        unmasked = masses[~np.isnan(masses)]
        return f"{float(unmasked.mean()):.0%} of the weight on </s>" if unmasked.size else ""
    left_out = 1 - float(attention.weights.sum(axis=-1).mean())
    if attention.kind == "decoder":
        return ""
    return f"</s> left out with {left_out:.0%} of the weight" if left_out > 0.001 else "</s> left out, rows rescaled"
