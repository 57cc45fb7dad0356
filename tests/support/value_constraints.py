"""Values of a small vocabulary, with figures, an opening token, a word and an ending."""

from collections.abc import Sequence

import numpy as np

from service.engine.values.constraints import Form, TokenClasses, ValueConstraints

VOCABULARY, EOS = 40, 2
DIGITS = range(10, 20)
OPENER, WORD, ENDING = 20, 30, 31


def classes() -> TokenClasses:
    digits, openers, continuing = (np.zeros(VOCABULARY, bool) for _ in range(3))
    digits[list(DIGITS)] = True
    openers[OPENER] = True
    continuing[[*DIGITS][5:]] = True
    continuing[ENDING] = True
    return TokenClasses(VOCABULARY, *(np.packbits(flags).tobytes() for flags in (digits, openers, continuing)))


def constraints(*values: Sequence[int], whole: bool = True, soft: bool = False) -> ValueConstraints:
    """Return values of one form each; those with digits allow no other digits."""
    forms = tuple((Form(tuple(value), False),) for value in values)
    reserved = any(token in DIGITS for value in values for token in value)
    return ValueConstraints(forms, (whole,) * len(values), reserved, classes(), (soft,) * len(values))
