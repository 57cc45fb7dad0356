"""The frame that all pages share: the translator, the models, the API and the book."""

PLACES = {"": "Translate", "learn/": "Learn", "web/models.html": "Models", "docs": "API"}


def _head(root: str) -> str:
    """Return what the head of every page has; `root` leads from the page to the translator."""
    return (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="{root}web/icon.svg" '
        f'type="image/svg+xml"><link rel="stylesheet" href="{root}web/style.css">'
    )


def _header(current: str, root: str) -> str:
    """Return the header of one of the places; `root` leads from its page to the translator, whose name is a heading."""
    links = "".join(
        f'<a href="{root}{place}"{" aria-current=page" if place == current else ""}>{name}</a>'
        for place, name in PLACES.items()
        if current or place
    ).replace(">API<", " translate=no>API<")
    icon = f'<img src="{root}web/icon.svg" alt="" width="28" height="28">'
    brand = f'<a class="brand" href="{root}" translate="no">{icon}Translucent</a>'
    return (
        f'<header class="top">{brand if current else f"<h1 translate=no>{icon}<span>Translucent</span></h1>"}'
        f'<nav aria-label="About this server">{links}<select id="language" aria-label="Language of this page"></select>'
        '<button type="button" id="theme" translate="no"></button></nav></header>'
    )


def page_around(own: str, content: str, current: str, root: str, contents: str = "") -> str:
    """Return a whole page: its own part of the head, its content, and the entries of its table of contents."""
    skip, shared, book = '<a class="skip" href="#text">Skip to the text to translate</a>', "", ""
    if current:
        script = f'<script type="module" src="{root}web/header.js"></script>'
        skip, shared = "", f'<link rel="stylesheet" href="{root}web/pages.css">{script}'
    if current in ("docs", "learn/"):
        book = ' class="book"'
    if contents:
        aside = '<details class="contents" open lang="en" translate="no"><summary>Contents</summary>'
        aside += f'<nav aria-label="Contents">{contents}</nav></details>'
        content = f'<div class="columns">{aside}{content}</div>'
    head = f'<!doctype html><html lang="en"><head>{_head(root)}{shared}{own}</head>'
    return f"{head}<body{book}>{skip}{_header(current, root)}{content}</body></html>"
