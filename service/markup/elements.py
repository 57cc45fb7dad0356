"""The elements of HTML, by what they do to the text around them; those that HTML does not know are inline."""

BLOCK_NAMES = (
    "address article aside base blockquote body br caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li link "
    "main menu meta nav noframes noscript ol optgroup option p rp rt rtc ruby search section select summary table "
    "tbody td textarea tfoot th thead title tr ul"
)
INLINE_NAMES = (
    "abbr acronym b bdi bdo big cite data del dfn em font i img ins kbd mark q s samp small span strike strong sub sup "
    "time tt u var wbr"
)
VOID_NAMES = "area base br col embed hr img input link meta param source track wbr"
BLOCK = frozenset(BLOCK_NAMES.split())
"""They divide text; so do annotations of words (ruby)."""
INLINE = frozenset(INLINE_NAMES.split())
"""They say something of the words of a sentence; links, buttons and unknown elements may also stand in a row."""
VOID = frozenset(VOID_NAMES.split())
INLINE_OPAQUE = frozenset({"code", "svg", "math"})
OPAQUE = frozenset({"script", "style", "pre", "template", "xmp", "iframe", "noembed", "noframes"})
