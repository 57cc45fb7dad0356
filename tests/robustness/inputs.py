"""550 odd inputs by kind: 50 of each, written for this project and used for nothing but this test."""

SENTENCES = (
    "The train to Lyon leaves in ten minutes.", "My sister has just bought a new bicycle.",
    "Can you tell me where the library is?", "I forgot my umbrella at the office.",
    "They have been waiting for us since this morning.", "This soup needs a little more salt.",
    "We should leave before it gets dark.", "He never answers the phone after nine.",
    "Who left the window open last night?", "The children are playing in the garden.",
    "I would like a cup of tea, please.", "Her grandfather was a famous painter.",
    "It has not rained for three weeks.", "Do you want to come with us?", "The doctor told him to stop smoking.",
    "I think we took the wrong road.", "She speaks four languages very well.", "The shop is closed on Sundays.",
    "Why did you not call me yesterday?", "Our neighbours have two dogs and a cat.",
    "The film was much longer than the book.", "I am looking for a cheap hotel.", "He lost his keys on the beach.",
    "You can pay by card or in cash.", "The museum is free for students.", "My computer is too slow for this game.",
    "She wants to become a teacher.", "We had dinner on the terrace.", "The bridge was built a hundred years ago.",
    "Please send me the report before Friday.", "I have never seen so many stars.",
    "The baby is asleep, so be quiet.", "He drives to work every day.", "Is there a bank near the station?",
    "They painted the kitchen yellow.", "I cannot find my glasses anywhere.", "The meeting starts in half an hour.",
    "She was late because of the snow.", "We need milk, bread and some cheese.", "That is the best news of the day.",
    "He plays the guitar in a small band.", "Turn left after the church.",
    "The teacher asked us a difficult question.", "I would rather stay at home tonight.",
    "This jacket is too small for me.", "The river is very deep here.", "They moved to Canada last summer.",
    "Everyone laughed at his story.", "Do not forget to lock the door.", "The coffee machine is broken again.",
)  # fmt: skip

_NUMBERED = (
    "The room number is {}.", "My grandmother was born in {}.", "There were {} people in the stadium.",
    "Please call {} before noon.", "The answer to the question is {}.", "The village has {} inhabitants.",
    "He paid {} dollars for the car.", "Chapter {} is the longest one.", "Only {} of them came back.",
    "Bus {} stops in front of the hotel.",
)  # fmt: skip
_NUMBERS = ("7", "42", "318", "1987", "60614")

_LINKED = (
    "You can find the details at {}.", "Have you read {}?", "The photos are on {} now.",
    "Go to {} and click on the red button.", "See {} for more information.",
)  # fmt: skip
_ADDRESSES = (
    "https://www.example.org", "http://example.com/index.html", "https://docs.example.net/guide/start",
    "www.museum-paris.fr", "https://shop.example.de/item?id=4711", "https://github.com/pytorch/pytorch",
    "https://en.wikipedia.org/wiki/Attention", "https://example.com/a/b/c#top", "ftp://files.example.org/pub",
    "https://sub.domain.example.co.uk/news",
)  # fmt: skip

_NAMED = (
    "{} has lived here for years.", "I met {} at the airport.", "Is {} your brother?",
    "Give this letter to {}, please.", "{} and I went to the cinema.",
)  # fmt: skip
_NAMES = (
    "Priya", "Kowalski", "Mrs. Okonkwo", "Søren", "Xiaoming", "Dr. Velázquez", "Zbigniew", "O'Brien", "Yamamoto",
    "Aïcha",
)  # fmt: skip

_CODED = (
    "Run `{}` in the terminal.", "What does {} do?", "The error comes from {}.", "Replace {} with your own value.",
    "I never use {} in my programs.",
)  # fmt: skip
_CODES = (
    "git status", "os.path.join", "x += 1", "print('hello')", "SELECT * FROM users", "--verbose", "foo_bar()",
    "/etc/hosts", "$HOME", "<div class=\"a\">",
)  # fmt: skip

_EMOJI = ("😀", "🎉🎉", "❤️", "👍🏽", "😂😂😂", "🇫🇷", "🐱", "☕️", "🚀", "🤷‍♀️")

_MISTYPED = (
    "Teh train is alraedy here.", "I dont no what to say.", "Wher is the nearest hospitl?", "She is my best freind.",
    "We wnet to the beech yesterday.", "Can yuo help me plaese?", "Its raining cats adn dogs.",
    "I recieved your leter.",
    "He is definately wrong.", "Tommorow is an other day.", "the wether is realy nice today", "i cant beleive it",
    "Thier house is bigg.", "How mutch does it cots?", "I hav a quesstion.", "You're brother called me.",
    "Plese clsoe the dooor.", "My favorit colour is bleu.", "we wil see eachother soon", "She sings beautifuly.",
    "I wuld like too go hoem.", "What tiem is it?", "He has to much wrok.", "Thsi is a tset.", "Do you speek english?",
    "The foood was delicous.", "I'm verry tierd.", "Look at taht bird!", "They ar late agian.", "She droped the glas.",
    "Wich one do you prefer?", "He livs in Londn.", "I lost my walet.", "It was an accidnet.", "Go strait ahead.",
    "I wsa born in Mai.", "Let's tkae a taxi.", "Nobdy knows the anwser.", "The keybord is brokn.", "He his sleeping.",
    "Were are you form?", "I ned more tiem.", "She alwasy smiles.", "You should of told me.", "We eated too much.",
    "The door si open.", "I forgto your name.", "Taht's not funy.", "My car dosen't start.", "See you tomorow!",
)  # fmt: skip

_STRANGE = (
    "ha ha ha ha ha ha ha ha", "no no no no no", "aaaaaaaaaaaaaaaaaaaa", "hmm...", "!!!", "???", "...", "-", "a", "I",
    "x", "OK", "lol", "brb", "12", "3.14159", "1 2 3 4 5 6 7 8 9 10", "A B C D E F G", "$$$", "100%", "@", "#", "()",
    "\"\"", "'", "1 + 1 = 2", "a = b", "Tom Tom Tom Tom", "buffalo buffalo buffalo buffalo", "very very very very good",
    "blah blah blah", "qwertyuiop", "asdf jkl;", "xkcdzzz pfff", "ZZZZZ", "The the the the.", "Yes. No. Yes. No. Yes.",
    "你好", "こんにちは世界", "Привет, как дела?", "مرحبا بالعالم", "Γειά σου", "bonjour tout le monde", "Guten Morgen",
    "¿Qué tal?", "naïve café", "½ cup", "→ ← ↑ ↓", "☃", "I.B.M. and U.S.A.",
)  # fmt: skip


def _filled(frames: tuple[str, ...], things: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(frame.format(thing) for frame in frames for thing in things)


KINDS: dict[str, tuple[str, ...]] = {
    "no full stop": tuple(sentence.rstrip(".?!") for sentence in SENTENCES),
    "lower case": tuple(sentence.lower() for sentence in SENTENCES),
    "capitals": tuple(sentence.upper() for sentence in SENTENCES),
    "several sentences": tuple(
        " ".join(SENTENCES[(at + step) % len(SENTENCES)] for step in (0, 7, 19)) for at in range(len(SENTENCES))
    ),
    "numbers": _filled(_NUMBERED, _NUMBERS),
    "addresses": _filled(_LINKED, _ADDRESSES),
    "names": _filled(_NAMED, _NAMES),
    "code": _filled(_CODED, _CODES),
    "typos": _MISTYPED,
    "emoji": tuple(f"{sentence} {_EMOJI[at % len(_EMOJI)]}" for at, sentence in enumerate(SENTENCES)),
    "strange": _STRANGE,
}
"""Eleven kinds of 50."""

MARKS = 100_000
ADVERSARIAL: dict[str, str] = {
    "marks out of order": "a" + "\u0300" * (MARKS // 2) + "\u0316" * (MARKS // 2),
    "marks in turn": "a" + "\u0300\u0316" * (MARKS // 2),
    "one mark": "a" + "\u0301" * MARKS,
    "marks that are two": "a" + "\u0344\u0316" * (MARKS // 2),
    "marks in disguise": "\u0f40" + "\u0f73\u0300" * (MARKS // 2),
    "only marks": "\u0316\u0300" * (MARKS // 2),
    "marks after spaces": ("a " + "\u0300\u0316" * 20) * (MARKS // 42),
    "marks on every letter": ("a" + "\u0300\u0316" * 14) * (MARKS // 29),
    "marks on a character of its own": "中" + "\u0300\u0316" * (MARKS // 2),
    "vowels that are composed": "\u0bc6" + "\u0bbe" * MARKS,
    "final consonants": "\uac00" + "\u11a8" * MARKS,
    "joiners": "\u034f" * MARKS,
}
"""Texts as long as a request may be, made to take a time that grows with the square of their length."""

SIZE = 100_000


def _repeated(part: str, start: str = "", end: str = "") -> str:
    return start + part * ((SIZE - len(start) - len(end)) // len(part)) + end


ATTACKS: dict[str, str] = {
    "name in a tag": _repeated("a-", "<a"),
    "translate=no": _repeated("translate=no ", "<a "),
    "class of a tag": _repeated("notranslate ", "<a class='"),
    "blanks": _repeated(" ", "Hello", "there."),
    "zeros": _repeated("0", "%"),
    "tags": "<i>" * (SIZE // 7) + "</b>" * (SIZE // 7),
    "nines": _repeated("9", "&#", ";"),
    "dashes": _repeated("- a\n"),
    "unclosed tags": _repeated("<p>Hello <b "),
    "closed tags": _repeated("<b>a</b>"),
    "open tags": _repeated("<b>a "),
    "stars": _repeated("*a "),
    "underscores": _repeated("_a "),
    "brackets": _repeated("["),
    "links": _repeated("[a]("),
    "backticks": _repeated("`"),
    "quotes": _repeated('"'),
    "quoted lines": _repeated("> ", "", "x"),
    "angles": _repeated("<"),
    "one word": _repeated("a"),
    "words": _repeated("a "),
    "initials": _repeated("A. "),
    "lines": _repeated("a\n"),
    "digits": _repeated("1"),
    "numbers": _repeated("1.5 "),
    "groups of digits": _repeated("'111", "1"),
    "addresses": _repeated("a@"),
    "slashes": _repeated("@/", "", "^"),
    "placeholders": _repeated("%("),
    "braces": _repeated("{a"),
    "comments": _repeated("<!--"),
    "marked": _repeated("<dnt>"),
    "references": _repeated("&amp;"),
    "marks": ADVERSARIAL["marks out of order"][:SIZE],
    "faces": _repeated("\u200d\U0001f44d"),
}
"""100 kB each: what has held a server up, and its relatives."""

EXPECTED: dict[str, tuple[str, ...]] = {
    "numbers": tuple(number for _ in _NUMBERED for number in _NUMBERS),
    "addresses": tuple(address for _ in _LINKED for address in _ADDRESSES),
}
"""The conditions for the translations of each kind of input."""
