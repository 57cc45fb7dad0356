"""The register that a translation shows: familiar (tu, du) or polite (vous, Sie)."""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from service.engine.types import Formality
from service.engine.values.locales import language_of

Register = Literal["familiar", "polite"]
Shown = frozenset[Register]
_BY_FORMALITY: dict[Formality, Register] = {"prefer_more": "polite", "prefer_less": "familiar"}
_SHOWN_CHARACTERS = 60  # of a sentence in a note
LANGUAGES = frozenset({"fr", "de"})

_WORDS: dict[tuple[str, Register], re.Pattern[str]] = {
    ("fr", "familiar"): re.compile(r"\b(?:tu|te|toi|ton|ta|tes|tien(?:ne)?s?)\b|\bt['’](?=\w)", re.IGNORECASE),
    ("fr", "polite"): re.compile(
        r"\b(?<!rendez-)(?:vous|votre|vos|vôtres?)\b|^(?:Faites|Dites)\b"
        r"|(?<![-\w])(?!(?:chez|assez|nez|rez|rendez-vous|allez,)(?!\w))\w+[^\W\d_]ez\b",
        re.IGNORECASE,
    ),
    ("de", "familiar"): re.compile(r"\b(?:du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?)\b", re.IGNORECASE),
    ("de", "polite"): re.compile(r"(?<=[\w,;)] )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b"),  # with a capital of their own
}
_SIE = re.compile(r"(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b")
_YOU = re.compile(r"\byou(?:rs?)?\b", re.IGNORECASE)
_START = r"(?:^|(?<=[.!…:;] )|(?<=[«„“\"] )|(?<=[«„“\"]))"
# A familiar command: a common one; or no other word that sentences begin with, and then what seldom follows a noun.
_COMMANDS = {
    "fr": re.compile(
        _START
        + r"(?:s'il te plaît,? )?(?:ne |n['’])?(?:(?:regarde|écoute|viens|attends|tiens|va|fais|mets|prends|dis|donne"
        r"|laisse|arrête|ouvre|appelle|descends|sois|aie|essaie|vérifie|choisis|clique|appuie|cherche|ajoute|supprime"
        r"|réponds|lis|écris|bois|mange|parle|oublie|tourne|envoie|apporte|enregistre|saisis|remplis)\b"
        r"|(?!(?:[jl][ea]|[dn]e|une|juste|suite|que|elle|comme|notre|votre|quelle|cette|entre|contre|autre|même|encore|grande|toute|chaque"
        r"|quatre|quelque|onze|presque|dans|sans|vers|dès|plus|moins|mais|jamais|nous|vous|tous|après|alors|depuis"
        r"|toujours|puis|pas|aucune|personne|parce|lorsque|grâce|\w*(?:[eo]s|ons|lire|[ou]ire|crire|ettre|[eo]i?ndre)"
        r")\b)\w+[es](?=[ \u00a0](?:l[ea]s?|une?|des|du|[mts](?:on|a|es)|ce(?:t|tte|s|la)?|ça|tou(?:t|te|s|tes)|pas"
        r"|jamais|rien|bien|à|aux?|sur|dans|ici|avec|deux|trois|attention)\b| l['’]))"
        r"|(?<![\w-])(?!\w+(?:tes|ons|ez)-)\w+[es]-(?:moi|toi|l[ea]s?|lui|nous|leur)\b",
        re.IGNORECASE,
    ),
    "de": re.compile(
        _START
        + r"(?:Bitte,? )?(?i:(?:schau|hör|komm|warte|sieh|sag|gib|lass|mach|geh|nimm|pass|ruf|erzähl|zeig|bring|hol|leg"
        r"|stell|setz|vergiss|hilf|lies|iss|trink|bleib|sei|fahr|lauf|schreib|probier|versuch|denk|frag|klick|wähl|tipp"
        r"|drück|dreh|zieh|öffne|schließ|prüf)e?\b"
        r"|(?!(?:d(?:er|ie|as)|[kmds]?ein\w*|ihr\w*|unser\w*|dies\w*|jede\w*|alle\w*|er|sie|es|ich|wir|man|w(?:er|as|ie"
        r"|o|ann|arum|enn)|als|da|dann|hier|jetzt|heute|gestern|morgen|und|aber|oder|nur|auch|so|sehr|i[nm]|a[mnb]|auf|aus"
        r"|beim?|nach|vo[nmr]|zu[mr]?|für|gegen|ohne|um|über|unter|zwischen|etwas|viel\w*|mehr|danke|hallo|zwei|drei|bis"
        r"|trotz|während|wegen|ob|los|nie|immer|ja|schon|noch|ganz|andere|welche\w*|bitte|\w+(?:en|e[rl]n|ung|heit|keit"
        r"|ends|(?<!hal)t))\b)[a-zäöüß]+(?= (?:d(?:ie|as|en|em|ich|ir)|[kmds]?ein\w*|ihr\w*|unser\w*|dies\w*|alle\w*"
        r"|mi(?:r|ch)|uns|ih[nm]|es|sie|nicht|nie|bitte|jetzt|sofort|mal|etwas|nichts|zwei|drei|weiter)\b))"
    ),
}
# How the first verb of a command may become polite: the model tells the right form from the others.
_POLITE = {
    "fr": (
        *(("ie", "yez"), ("e", "ez"), (r"è(\w+)e", r"e\1ez"), (r"è(\w+)e", r"é\1ez"), (r"([lt])\1e", r"\1ez")),
        *(("s", ending) for ending in ("ez", "sez", "ssez", "tez", "vez")),
    ),
    "de": (("(?<=e[lr])e", "n Sie"), ("(?<!e[lr])e", "en Sie"), ("(?<!e)", "en Sie")),
}
_FIRST_VERB = re.compile(r"(?:N(?:e |['’]))?(\w+)")
_NO_COMMAND = re.compile(  # how English sentences begin that are no commands
    r"\b(?:the|an?|th[ei]s[e]?|those|my|your|his|her|its|our|their|i|you|s?he|it|we|they|there|wh\w+|how|is|are|was|were|am"
    r"|do(?! not\b)|does|did|has|can|could|will|would|shall|should|may|might|must|if|in|on|at|by|for|from|with|after"
    r"|before|as|of|about|every\w*|each|all|some\w*|any|no|many|most|few|two|three|but|and|or|so|because|although|only"
    r"|one|nobody|nothing|\w*[^s]s)\b",
    re.IGNORECASE,
)


def _is_no_command(source: str) -> bool:
    return _NO_COMMAND.match(source) is not None or source.rstrip().endswith("?")


def registers_of(text: str, language: str, source: str, source_language: str) -> Shown:
    """Return the registers that a sentence in French or German shows; none in any other language.

    Where its words have several meanings, those of an English source decide.
    """
    language, from_english = language_of(language), language_of(source_language) == "en"
    if language not in LANGUAGES:
        return frozenset()
    found = {name for (of, name), words in _WORDS.items() if of == language and words.search(text)}
    if language == "de" and _SIE.match(text) and (not from_english or _YOU.search(source)):
        found.add("polite")
    if not found and _COMMANDS[language].search(text) and not (from_english and _is_no_command(source)):
        found.add("familiar")
    return frozenset(found)


def polite_forms(command: str, language: str) -> list[str]:
    """Return what may be the polite form of a familiar command, right or wrong: "Nourrissez" and "Nourrisez"."""
    language = language_of(language)
    found = _COMMANDS[language].match(command) and _FIRST_VERB.match(command)
    if not found:
        return []
    verb, rest = command[: found.end()], command[found.end() :]
    forms = [re.sub(f"{old}$", new, verb, count=1) + rest for old, new in _POLITE[language]]
    return [form for form in dict.fromkeys(forms) if form != command]


def wanted_register(formality: Formality, shown: Collection[Shown]) -> Register | None:
    """Return the register of a text: the one that is asked for, or that most of its sentences show if they differ."""
    if formality != "default":
        return _BY_FORMALITY[formality]
    familiar, polite = (sum(each == {register} for each in shown) for register in ("familiar", "polite"))
    return None if not familiar or not polite else "familiar" if familiar > polite else "polite"


def is_other(shown: Shown, wanted: Register | None) -> bool:
    """Return whether a sentence shows another register than the wanted one, perhaps beside it."""
    return wanted is not None and bool(shown - {wanted})


Pair = tuple[str, str]  # a text and its translation; or the languages of both


def in_other_register(texts: Sequence[Pair], languages: Pair) -> tuple[list[int], Formality]:
    """Return the numbers of the texts that do not show the register of most, and the formality that asks for it."""
    shown = [registers_of(translation, languages[1], text, languages[0]) for text, translation in texts]
    wanted = wanted_register("default", shown)
    numbers = [number for number, each in enumerate(shown) if is_other(each, wanted)]
    return numbers, "prefer_more" if wanted == "polite" else "prefer_less"


def formality_note(formality: Formality, texts: Sequence[Pair], languages: Pair) -> str:
    """Return what translations do not have of the formality that was asked for; "" if nothing is missing."""
    source, target = languages
    if formality == "default":
        return ""
    if language_of(target) not in LANGUAGES:
        return f"formality has no effect on {target}: French and German have familiar and polite forms here."
    wanted = wanted_register(formality, ())
    other = [each for text, each in texts if is_other(registers_of(each, target, text, source), wanted)]
    if not other:
        return ""
    return (
        f"formality is {formality}, but {len(other)} of {len(texts)} have no {wanted} translation that is nearly as "
        f"likely; the first: {other[0][:_SHOWN_CHARACTERS]}"
    )
