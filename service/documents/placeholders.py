"""Placeholders in the texts of programs, which must arrive unchanged."""

from __future__ import annotations

import re

PLACEHOLDER = re.compile(
    r"%%"
    r"|%\(\w+\)[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]"  # %(name)s
    r"|%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?[diouxXeEfFgGcsrap@](?![a-zA-Z])"  # %s, %1$d, %.2f
    r"|%\{\w+\}|%\d+|%[nLl]\b"  # Ruby, Qt
    r"|\$\{[^{}\n]{1,80}\}|\{\{[^{}\n]{1,80}\}\}|\{[\w.\[\]!:,#<>=^+ -]{0,60}\}"  # ${x}, {{x}}, {0:>4}
    r"|&[a-zA-Z]+\d*;|&#\d+;"
    r"|\\[nrt\"\\]"
)
MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
