"""Files for other programs, and the HTML file that needs nothing else."""

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from service.engine.errors import InvalidOption
from service.engine.types import AttentionMap, Word
from service.figures.exports import as_bertviz, as_csv, as_npz
from service.figures.figure import single_figure
from service.figures.html import as_html
from service.figures.vega_lite import specification
from tests.figures.maps import make_map

HOSTILE = ("</script><script>alert(1)</script>", "<!--", "a,b", 'say "x"', "line\nbreak", "=1+1", "\u2028", "&lt;")


def rows_of(found: AttentionMap) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv([("m", found)]).decode("utf-8"), newline="")))


def test_csv_has_every_weight_with_its_tokens() -> None:
    found = make_map(HOSTILE, HOSTILE, (2, 2))
    rows = rows_of(found)
    assert len(rows) == found.weights.size
    row = rows[-1]
    assert (row["layer"], row["head"], row["rank"]) == ("1", "1", str(found.token_ranks[-1]))
    assert float(row["weight"]) == pytest.approx(float(found.weights[1, 1, -1, -1]), abs=1e-6)


def test_a_cell_is_no_formula_but_otherwise_what_it_was() -> None:
    formulas = ("=1+1", "+33", "-5", "@SUM(A1)")
    others = {*HOSTILE, "-", "+", "a=b"}.difference(formulas)
    words = (*formulas, *others)
    rows = rows_of(make_map(words, words))
    expected = {*(f"'{formula}" for formula in formulas), *others, "</s>"}
    assert {row["column_token"] for row in rows} == {row["row_token"] for row in rows} == expected


def test_files_say_which_step_rows_belong_to_and_leave_open_what_is_not_known() -> None:
    found = make_map(step="consume")
    weights = found.weights.copy()
    weights[-1] = np.nan
    found = replace(found, weights=weights)
    rows = rows_of(found)
    assert {row["step"] for row in rows} == {"consume"}
    last = str(len(found.target_tokens) - 1)
    assert {row["row"] for row in rows if row["weight"] == ""} == {last}
    assert all(row["weight"] == "" for row in rows if row["row"] == last)
    with np.load(io.BytesIO(as_npz([("m", found)]))) as arrays:
        assert str(arrays["step"]) == "consume"
        np.testing.assert_array_equal(np.isnan(arrays["weights"]).all(axis=1), [False] * int(last) + [True])
    figure = single_figure(found)
    assert "<td>–</td>" in as_html(figure, specification(figure), b"", "light").decode("utf-8")


def test_npz_has_named_arrays_and_is_the_same_every_time() -> None:
    found = make_map(HOSTILE)
    content = as_npz([("m", found)])
    assert as_npz([("m", found)]) == content
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["weights"], found.weights)
        assert arrays["axes"].tolist() == ["target", "source"]
        assert arrays["source_tokens"].tolist() == [*HOSTILE, "</s>"]
        assert str(arrays["digest"]) == found.digest
        assert arrays["target_spans"].shape == (len(found.target_tokens), 2)
    with np.load(io.BytesIO(as_npz([("first", found), ("second", found)]))) as arrays:
        assert {"first.weights", "second.weights"} <= set(arrays)


def test_npz_has_the_ids_of_tokens_and_of_every_token_of_a_word() -> None:
    found = make_map(("I", "lost"))
    words = (Word((7, 8, 9), "▁lost", "lost", 0, 4), Word((2,), "</s>", "", 4, 4, "</s>"))
    with np.load(io.BytesIO(as_npz([("m", replace(found, source_tokens=words))]))) as arrays:
        assert arrays["target_ids"].tolist() == [token.ids[0] for token in found.target_tokens]
        assert arrays["source_ids"].tolist() == [[7, 8, 9], [2, -1, -1]]


def test_bertviz_gets_layers_heads_and_tokens() -> None:
    found = make_map(shape=(2, 4))
    content = json.loads(as_bertviz(found))
    assert np.asarray(content["cross_attention"]).shape == found.weights.shape
    assert (len(content["decoder_tokens"]), len(content["encoder_tokens"])) == found.weights.shape[2:]
    assert content["encoder_tokens"][-1] == content["decoder_tokens"][-1] == "</s>"
    assert content["decoder_tokens_are"] == "output"
    decoder = replace(found, kind="decoder", column_tokens=found.target_tokens)
    assert json.loads(as_bertviz(decoder))["decoder_tokens_are"] == "input"
    assert "decoder_tokens_are" not in json.loads(as_bertviz(replace(found, kind="encoder")))
    with pytest.raises(InvalidOption):
        as_bertviz(make_map())


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_html_file_holds_texts_as_text_loads_nothing_and_allows_only_its_own_scripts() -> None:
    figure = single_figure(make_map(HOSTILE, HOSTILE))
    library = b"window.x='<!--';\r\nwindow.y='</script>';"
    html = as_html(figure, specification(figure), library, "dark").decode("utf-8")
    parser = Elements()
    parser.feed(html)
    scripts = [attributes for tag, attributes in parser.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "specification"}, {}, {}]
    assert not any({"src", "href", "onerror"} & attributes.keys() for _, attributes in parser.tags)
    data = re.search(r'id="specification">(.*?)</script>', html, re.DOTALL)
    assert data is not None
    assert json.loads(data.group(1)) == specification(figure)
    assert "alert(1)</script>" not in html
    own = [hashlib.sha256(text.encode()) for text in re.findall(r"<script>(.*?)</script>", html, re.DOTALL)]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    [allowed] = [part for part in policy[1].split("; ") if part.startswith("script-src ")]
    assert set(allowed.split()[1:]) == {f"'sha256-{base64.b64encode(each.digest()).decode()}'" for each in own}
    assert len(own) == 2
