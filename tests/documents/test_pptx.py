"""Presentations, made and read back with python-pptx."""

import io
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.support.documents import same, saved, segments, through


def talk() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Our plan"
    frame = slide.placeholders[1].text_frame
    paragraph = frame.paragraphs[0]
    runs = [paragraph.add_run() for _ in range(4)]
    for run, text in zip(runs, ("We have ", "never", " lost a ", "customer"), strict=True):
        run.text = text
    runs[1].font.bold = True
    runs[3].hyperlink.address = "https://example.org"
    paragraph.add_line_break()
    paragraph.add_run().text = "Thank you."
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Cell one", "Cell two"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["East"]
    data.add_series("Sales", (1,))
    size = (Inches(1), Inches(4), Inches(4), Inches(2))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *size, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales by region"
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    return saved(presentation)


def looks(data: bytes) -> list[Any]:
    """Return the text and format of every run, and the notes."""
    found: list[Any] = []
    for slide in Presentation(io.BytesIO(data)).slides:
        for shape in slide.shapes:
            frames = [shape.text_frame] if shape.has_text_frame else []
            frames += [cell.text_frame for cell in shape.table.iter_cells()] if shape.has_table else []
            frames += [shape.chart.chart_title.text_frame] if shape.has_chart else []
            for frame in frames:
                for paragraph in frame.paragraphs:
                    runs = [(run.text, run.font.bold, run.hyperlink.address) for run in paragraph.runs]
                    found.append((paragraph.level, paragraph.text.count("\v"), runs))
        found.append(slide.notes_slide.notes_text_frame.text)
    return found


def test_slides_tables_charts_and_notes_are_translated() -> None:
    data = talk()
    assert through("a.pptx", data, same) == data
    assert segments("a.pptx", data) == [
        *("Our plan", "We have <b 0>never</b> lost a <b 1>customer</b>", "Thank you.", "Cell one", "Cell two"),
        *("Sales by region", "Sales", "East", "Speak slowly."),
    ]
    before, after = looks(data), looks(through("a.pptx", data))
    for old, new in zip(before, after, strict=True):
        if isinstance(old, str):
            assert new == old.upper()
        else:
            assert new == (*old[:2], [(text.upper(), *look) for text, *look in old[2]])
