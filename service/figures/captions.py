"""The words of a picture: its heading, and the notes that say what it shows."""

import numpy as np

from service.engine import AttentionMap, Selector
from service.figures.labels import clean, right_to_left, shorten
from service.figures.panels import Naming, Panel, ViewName, column_tokens

TITLE_LENGTH = 64


def digest(found: AttentionMap) -> str:
    """Return enough of a model's digest to identify it."""
    return found.digest[:19]


def headline(found: AttentionMap) -> tuple[str, ...]:
    """Return the two texts, on one line if they are short, or the one text of self-attention."""
    source, target = (shorten(clean(text).strip(), TITLE_LENGTH) for text in (found.source_text, found.target_text))
    if found.kind == "encoder":
        return (source,)
    if found.kind == "decoder":
        return (target,)
    one_line = len(source) + len(target) <= TITLE_LENGTH // 2 and not right_to_left(source + target)
    return (f"{source}  →  {target}",) if one_line else (source, f"→  {target}")


def described(found: AttentionMap, naming: Naming) -> str:
    """Return what a map shows, of which layer and head, and how much weight the end token has."""
    return "  ·  ".join(filter(None, (subject(found), selection(found, naming), _mass(found))))


def subject(found: AttentionMap) -> str:
    """Return the kind of attention."""
    name = {
        "cross": "cross-attention",
        "encoder": "encoder self-attention",
        "decoder": "decoder self-attention",
        "occlusion": "occlusion: what a target token loses if a source word is removed",
    }[found.kind]
    return name if found.scores is None else f"{name}, scores before the softmax"


def selection(found: AttentionMap, naming: Naming) -> str:
    """Return the layer and head of a map."""
    # Short, because each letter takes time to draw.
    if found.kind == "occlusion":
        return ""
    if found.layer == found.head and found.layer in ("mean", "all"):
        return {"mean": "mean of all heads", "all": "all heads"}[str(found.layer)]
    aligning = naming.aligning.get(found.model)
    layer, head = aligning if aligning is not None else (found.layer, found.head)
    chosen = (layer if found.layer == "align" else found.layer, head if found.head == "align" else found.head)
    name = f"{_selector('layer', chosen[0])}, {_selector('head', chosen[1])}"
    if aligning is None or "align" not in (found.layer, found.head):
        return name
    if not found.layer == found.head == "align":
        return name
    return f"{name} (alignment head, read one step later)" if found.step == "consume" else f"{name} (alignment head)"


def _selector(name: str, chosen: Selector) -> str:
    if chosen == "align":
        return f"alignment {name}"
    if isinstance(chosen, int):
        return f"{name} {chosen + 1}"  # people count from 1, the API from 0
    return f"mean of {name}s" if chosen == "mean" else f"all {name}s"


def legend(found: AttentionMap, panel: Panel, view: ViewName, several: bool) -> str:
    """Return the score, and the legend for a reader of the picture."""
    score = score_note(found) if found.kind in ("cross", "occlusion") else ""
    axes = f"rows: {panel.row_title}, columns: {panel.column_title}" if several else ""
    marks = "outlined: aligned words" if panel.marked and view == "heatmap" else ""
    return "  ·  ".join(filter(None, (score, axes, marks, unknown_note(panel) if view == "heatmap" else "")))


def score_note(found: AttentionMap) -> str:
    """Return the score for a heading."""
    return f"score {found.score:.2f}"


def unknown_note(panel: Panel) -> str:
    """Return the legend of rows without known weights, if there are any."""
    return "dashed: not known" if panel.unknown else ""


def _mass(found: AttentionMap) -> str:
    """Return the share of weight on the end token, to which a head without a relevant token often attends."""
    if found.kind == "occlusion" or found.scores is not None:
        return ""
    columns = column_tokens(found)
    special = [number for number, token in enumerate(columns) if token.special == "</s>"]
    if special:
        masses = found.weights[..., special].sum(axis=-1)
        known = masses[~np.isnan(masses)]
        return f"{float(known.mean()):.0%} of the weight on </s>" if known.size else ""
    left_out = 1 - float(found.weights.sum(axis=-1).mean())
    if found.kind == "decoder":
        return ""
    return f"</s> left out with {left_out:.0%} of the weight" if left_out > 0.001 else "</s> left out, rows rescaled"
