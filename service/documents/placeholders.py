"""Placeholders in the texts of programs, which must arrive unchanged."""

from __future__ import annotations

import re

PLACEHOLDER = re.compile(
    r"%%"
    r"|%\(\w{1,80}\)[-+ #0]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]"  # %(name)s
    r"|%(?:\d{1,3}\$)?[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|h|ll|l|z|j|t|L)?[diouxXeEfFgGcsrap@](?![a-zA-Z])"
    r"|%\{\w{1,80}\}|%\d{1,3}|%[nLl]\b"  # Ruby, Qt
    r"|\$\{[^{}\n]{1,80}\}|\{\{[^{}\n]{1,80}\}\}|\{[\w.\[\]!:,#<>=^+ -]{0,60}\}"  # ${x}, {{x}}, {0:>4}
    r"|&[a-zA-Z]{1,32}\d{0,4};|&#\d{1,7};"
    r"|\\[nrt\"\\]"
)
MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
