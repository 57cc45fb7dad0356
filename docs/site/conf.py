"""Sphinx reads this: `docs/tools/build_site.py` puts it beside the pages that it stages."""

project = "Translucent"
author = copyright = "The Translucent authors"
html_title = "Translucent"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_favicon = "_static/icon.svg"
html_extra_path = ["_extra"]
html_copy_source = False  # the pages are staged copies
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

myst_heading_anchors = 4  # as GitHub makes them
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# Docstrings put code between single backticks, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
python_use_unqualified_type_names = True
suppress_warnings = ["misc.highlighting_failure"]  # answers shortened with … are no valid JSON
