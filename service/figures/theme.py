"""Colours and fonts of the pictures: two themes, with ramps of monotone lightness that need no hue perception."""

from dataclasses import dataclass
from typing import Any, Literal

ThemeName = Literal["light", "dark"]

# The first installed font of these is used; missing glyphs come from any installed font that has them.
FONT = "'Liberation Sans', Arial, 'Noto Sans', 'DejaVu Sans', 'Droid Sans Fallback', 'Noto Sans CJK SC', sans-serif"
# For text with Arabic or Hebrew: otherwise the drawing library takes the first face that fits, even a bold one.
FONT_RIGHT_TO_LEFT = f"'DejaVu Sans', {FONT}"


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of colours."""

    background: str
    ink: str
    muted: str  # second lines of headings, axis titles; still 4.5 : 1 on the background
    accent: str  # the outline of aligned cells
    line: str  # lines between tokens
    bar: str
    ramp: tuple[str, ...]  # weights from 0 to the largest; begins near the background
    signed: tuple[str, ...]  # differences from -largest to +largest; the middle is near the background
    ink_on_high: str  # text in cells of the upper half of the ramp


LIGHT = Theme(
    background="#ffffff",
    ink="#1b2330",
    muted="#566072",
    accent="#d9480f",
    line="#1d5a96",
    bar="#5b93b8",
    ramp=("#f7f8f6", "#d5e5e8", "#97c3d0", "#5598ba", "#2a6399", "#122a5c"),
    signed=("#8c4a04", "#cf8a35", "#f0d6ad", "#f7f7f7", "#c6c3e0", "#7c6fb3", "#3f1f7a"),
    ink_on_high="#ffffff",
)
DARK = Theme(
    background="#12161d",
    ink="#eceff4",
    muted="#a3adbd",
    accent="#ff9f5a",
    line="#7fc4f2",
    bar="#3f7d96",
    ramp=("#1a202a", "#21395e", "#2b6383", "#4c9391", "#a3c074", "#fdeb85"),
    signed=("#ffb865", "#b9762a", "#553c22", "#1c212b", "#3a3562", "#7a6fc4", "#c9c2ff"),
    ink_on_high="#12161d",
)
THEMES: dict[ThemeName, Theme] = {"light": LIGHT, "dark": DARK}


def config(theme: Theme, font: str = FONT) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a theme."""
    text = {"labelColor": theme.ink, "titleColor": theme.muted, "labelFont": font, "titleFont": font, "labelLimit": 0}
    return {
        "font": font,
        "view": {"stroke": None},
        "axis": {
            **text,
            "domain": False,
            "ticks": False,
            "grid": False,
            "labelPadding": 6,
            "labelOverlap": False,
            "titleFontWeight": "normal",
            "titleFontSize": 11,
        },
        "legend": {**text, "titleFontWeight": "normal", "titleFontSize": 11, "labelFontSize": 10, "titleLimit": 0},
        "title": {
            "color": theme.ink,
            "subtitleColor": theme.muted,
            "font": font,
            "subtitleFont": font,
            "fontSize": 15,
            "subtitleFontSize": 11,
            "subtitlePadding": 6,
            "fontWeight": 600,
            "anchor": "start",
            "limit": 0,
            "offset": 14,
        },
        "header": {"labelColor": theme.muted, "labelFont": font, "labelFontSize": 11, "title": None},
        "text": {"font": font, "color": theme.ink},
        "concat": {"spacing": 20},
    }
