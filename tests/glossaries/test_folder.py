"""Files of glossaries: what they may look like, and what is refused with which sentence."""

from pathlib import Path

import pytest

from service.glossaries import checks
from service.glossaries.checks import InvalidGlossary, UnknownGlossary, glossary_of
from service.glossaries.folder import GlossaryFolder, glossary_in_file

TBX_2 = """<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd"><martif type="TBX"><text><body>
<termEntry><langSet xml:lang="en"><tig><term>contract</term></tig></langSet>
<langSet xml:lang="de"><tig><term>Vertrag</term></tig><tig><term>Verträge</term></tig></langSet></termEntry>
</body></text></martif>"""
TBX_3 = """<tbx xmlns="urn:iso:std:iso:30042:ed-2"><text><body><conceptEntry>
<langSec xml:lang="en"><termSec><term>key</term></termSec></langSec>
<langSec xml:lang="fr"><termSec><term>clé</term></termSec></langSec></conceptEntry></body></text></tbx>"""


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_TERMS", 3)
    monkeypatch.setattr(checks, "MOST_CHARACTERS", 20)


def folder_with(path: Path, **files: str) -> GlossaryFolder:
    for name, text in files.items():
        (path / name.replace("__", "-").replace("_", ".")).write_text(text, encoding="utf-8")
    folder = GlossaryFolder(path)
    folder.reload()
    return folder


def test_tables_and_termbases_serve_their_pairs(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        legal_en__fr_tsv="contract\tcontrat\tcontrats\nkey\tclé\n",
        shop_csv='en,fr,de\n"box, small",boîte,Kiste\nshop,,Laden\n',
        terms_tbx=TBX_2,
        more_tbx=TBX_3,
    )
    served = {(each.name, each.source, each.target): each.terms for each in folder.served()}
    assert served[("legal", "en", "fr")] == 2
    assert (served[("shop", "en", "fr")], served[("shop", "en", "de")]) == (1, 2)
    assert folder.get("legal", ("en", "fr-CA")).terms[0] == ("contract", ("contrat", "contrats"))
    assert folder.get("terms", ("en", "de")).terms == (("contract", ("Vertrag", "Verträge")),)
    assert folder.get("more", ("fr", "en")).terms == (("clé", ("key",)),)


def test_an_unknown_name_or_pair_says_what_there_is(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, legal_en__fr_tsv="key\tclé\n")
    with pytest.raises(UnknownGlossary, match="GET /glossaries lists them: legal"):
        folder.get("medical", ("en", "fr"))
    with pytest.raises(UnknownGlossary, match="legal is for en to fr, not for en to de"):
        folder.get("legal", ("en", "de"))


def test_a_file_that_breaks_is_served_as_it_was_and_its_terms_are_not_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path, legal_en__fr_tsv="key\tclé\n", other_en__fr_tsv="box\tboîte\n")
    (tmp_path / "legal.en-fr.tsv").write_text("secretword\tclé\nSecretword\tclef\n")
    (tmp_path / "other.en-fr.tsv").write_text("box\tcaisse\n")
    folder.reload()
    assert folder.get("legal", ("en", "fr")).terms == (("key", ("clé",)),)
    assert folder.get("other", ("en", "fr")).terms == (("box", ("caisse",)),)
    assert "secretword" not in "".join(capsys.readouterr()).lower()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("glossary.tsv", "a\tx\nkey\n", "Line 2 needs a source term and its translation"),
        ("bomb.tbx", '<!DOCTYPE m [<!ENTITY a "aaaa">]><martif><term>&a;</term></martif>', "entities"),
        ("broken.tbx", "<martif>", "not well-formed"),
    ],
)
def test_what_a_file_must_not_hold(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidGlossary, match=message):
        glossary_in_file(path, ("en", "fr"))


def test_half_a_character_which_json_cannot_bring_is_refused() -> None:
    with pytest.raises(InvalidGlossary, match="control character or a line break"):
        glossary_of([("key", ("a\ud800b",))])
