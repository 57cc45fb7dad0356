"""Reads NLLB-200 and M2M-100 in the form of the Hugging Face hub (``M2M100ForConditionalGeneration``).

What they are: pre-norm with a last norm on each side, one table for source, target and output, and fairseq's positions,
whose first row is that of position 2 (transformers' ``modeling_m2m_100.py``). One SentencePiece model cuts the texts of
all languages; the decoder reads </s> and then the token of the target language.
"""

from dataclasses import replace
from pathlib import Path

from training.imports.files import ImportRefused, checksums, read_object, read_optional_object, stated_licence
from training.imports.hub_folder import LONGEST, HubFolder
from training.imports.language_tokens import languages_of
from training.imports.sentencepiece_file import read_sentencepiece
from training.imports.source import ImportedModel, Origin, ReadOptions, TextSide
from training.imports.vocabulary import read_pieces
from training.networks.positions import sinusoidal_table

PIECES = "sentencepiece.bpe.model"
CREDIT = "NLLB Team 2022, Fan et al. 2020 (Meta AI)"
_TOKENIZERS = ("M2M100Tokenizer", "NllbTokenizer", "NllbTokenizerFast", "TokenizersBackend", "")
"""Those that put the tokens of languages where we do; SMaLL-100, for one, has its own."""
_M2M_CODES = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy "
    "id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru "
    "sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
"""In the order of their ids, which follow those of ``vocab.json``."""


def read_m2m(folder: Path, options: ReadOptions) -> ImportedModel:
    """Read a model from a folder; raises ImportRefused in one sentence for what cannot be imported."""
    hub = HubFolder.read(folder, options)
    network = hub.network({"norm": "pre", "positions": "learned", "share_embeddings": True})
    model = read_sentencepiece(folder / PIECES)
    vocabulary = hub.vocabulary(_pieces(folder, hub.rows()), [model], hub.where, hub.rows())
    languages = languages_of(vocabulary.names, options.source, options.target, str(folder))
    if languages is None or not languages.source_prefixes:
        raise ImportRefused(f"{folder}: its vocabulary has no tokens of languages, such as eng_Latn or __en__")
    first = int(hub.config.get("pad_token_id", 1)) + 1
    table = sinusoidal_table(first + LONGEST, network.width, "marian")[first:]
    licence, credit = stated_licence(folder, options.licence), options.credit or CREDIT
    origin = Origin("m2m-100", hub.name, licence, credit, checksums(folder), network.positions, False)
    side = TextSide.of(model, vocabulary)
    made = hub.model(origin, network, languages, (side, side))
    return replace(made, parameters=made.parameters | {"positions": table})


def _pieces(folder: Path, rows: int) -> dict[str, int]:
    """Return the id of every piece and language token; rows of the network without a name get one."""
    settings = read_optional_object(folder / "tokenizer_config.json")
    kind = str(settings.get("tokenizer_class") or "")
    if kind not in _TOKENIZERS:
        raise ImportRefused(f"{folder}: its tokenizer is a {kind}; those of NLLB and M2M-100 can be imported")
    if (folder / "vocab.json").is_file():
        pieces = read_pieces(folder / "vocab.json")
        listed = read_optional_object(folder / "special_tokens_map.json").get("additional_special_tokens")
        codes = [str(token) for token in listed or [f"__{code}__" for code in _M2M_CODES.split()]]
        pieces |= {token: len(pieces) + place for place, token in enumerate(codes) if token not in pieces}
    else:
        pieces = _of_tokenizer(folder / "tokenizer.json")
    named = set(pieces.values())
    return pieces | {f"<row {row}>": row for row in range(rows) if row not in named}


def _of_tokenizer(path: Path) -> dict[str, int]:
    """Return the ids of a ``tokenizer.json``; raises ImportRefused."""
    content = read_object(path)
    try:
        pieces = {str(name): int(number) for name, number in content["model"]["vocab"].items()}
        return pieces | {str(token["content"]): int(token["id"]) for token in content["added_tokens"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImportRefused(f"{path}: it has no vocabulary of pieces and added tokens") from error
