import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from benchmarks import intents
from benchmarks.unseen import __main__ as unseen
from benchmarks.unseen import blocks, lists, utterances
from slowcat_memory.core.commands.intent_model import ROWS
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.testing import HashEmbedder
from tests.support.rows import DATA, listed

MARK = "quetzal"  # in every row of the half "held out" that fails

_PARTS = (DATA / "tiny_unseen.txt").read_text("utf-8").split("# ")[1:]
TINY = {name: text.rstrip("\n") for name, _, text in (part.partition("\n") for part in _PARTS)}


def write_lists(folder: Path, lists: dict[str, str] | None = None) -> Path:
    """Write lists as tab-separated files, below a comment."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (TINY if lists is None else lists).items():
        lines = ("\t".join(cell.strip() for cell in line.split("~")) for line in text.splitlines())
        (folder / f"{name}.tsv").write_text("\n".join(("# own sentences", *lines)) + "\n", "utf-8")
    return folder


def expected(name: str) -> dict[str, float]:
    """Return the shares in the half "tuned": of right rows and of wrong ones."""
    return {figure: float(Fraction(share)) for figure, share in listed("unseen_expected", name)}


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash words in place of the model, which would make the figures depend on the machine."""
    monkeypatch.setattr(blocks, "real_embedder", lambda: HashEmbedder())
    monkeypatch.setattr(utterances, "cosine", lambda: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lists(tmp_path_factory.mktemp("lists"))


def figures(name: str, folder: Path) -> dict[str, Any]:
    wanted = next(one for one in unseen.LISTS if one.name == name)
    return lists.results(unseen.judge(wanted, folder))


@pytest.mark.parametrize("name", [one.name for one in unseen.LISTS])
def test_unseen_right_rows_count_and_wrong_ones_do_not(name: str, folder: Path):
    told = figures(name, folder)
    shares = {figure: one["share"] for figure, one in told["tuned"]["all"]["figures"].items()}
    assert shares == pytest.approx(expected(name), abs=1e-4)
    assert told["held out"]["all"]["n"] > 0


def test_unseen_no_word_of_the_held_out_half_is_ever_shown_or_written(folder, tmp_path, capsys):
    written = tmp_path / "unseen.json"
    unseen.main(["--data", str(folder), "--wrong", "--json", str(written)])
    shown = capsys.readouterr().out
    assert "Please forget that." in shown and "wanted undo" in shown  # a tuned row that fails
    assert MARK not in (shown + written.read_text()).lower()
    kept = json.loads(written.read_text())
    assert set(kept["lists"]) == {one.name for one in unseen.LISTS}
    assert all(set(halves) == {"tuned", "held out"} for halves in kept["lists"].values())


def test_unseen_a_damaged_list_is_named_by_its_line_and_not_by_its_words(tmp_path: Path):
    for line, reason in (
        ("tuned ~ english ~ quetzal ~ more", "4 cells"),
        ("both ~ english ~ quetzal", "half"),
    ):
        write_lists(tmp_path, {"lookalikes": f"half ~ language ~ sentence\n{line}"})
        with pytest.raises(ValueError, match=rf"lookalikes.tsv, line 3: .*{reason}") as raised:
            lists.read(tmp_path / "lookalikes.tsv", "sentence")
        assert MARK not in str(raised.value)
    with pytest.raises(ValueError, match="no column speaker"):
        lists.read(tmp_path / "lookalikes.tsv", "speaker")


def test_unseen_no_list_has_changed_since_it_was_written():
    sums = list(lists.FOLDER.parent.glob("*/SHA256SUMS"))
    assert {file.parent.name for file in sums} >= {"said_at_home", "unseen"}
    for file in sums:
        for line in file.read_text().splitlines():
            digest, name = line.split()
            content = (file.parent / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, f"{file.parent.name}/{name}"


def test_the_model_of_commands_is_fitted_on_features_of_sentences():
    pytest.importorskip("scipy", reason="the extra [bench] is not installed")
    said = [
        intents.Example("own", text, "undo") for text in ("Undo that.", "Bring it back, please.")
    ]
    matrix = intents.features(said, LANGUAGES[0])
    assert matrix.shape == (2, ROWS)
    assert matrix.getnnz(axis=1).min() > 10
