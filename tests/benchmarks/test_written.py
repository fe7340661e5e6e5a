"""Diaries with what a model writes: the models, the run, and that every law can fail."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.written import __main__ as cli
from benchmarks.written.good import GoodModel, Request
from benchmarks.written.laws import LAWS, counts
from benchmarks.written.play import Mode, Played, play
from slowcat_memory.core.facts.prompt import FactsReply
from slowcat_memory.providers.llm.server import schema_of
from tests.harness.written_diaries import REACHED, beyond
from tests.support import tiny_diary
from tests.support.rows import DATA

RECORD = (DATA / "written/record.txt").read_text("utf-8")
REWORDED = RECORD.replace("[2]", "(12)").replace("[3]", "(13)").replace("[4]", "(14)")


def played(mode: Mode) -> Played:
    with tempfile.TemporaryDirectory(dir=cli.MEMORY) as folder:
        return play(tiny_diary.diary(), Path(folder, "store"), mode, vectors=False)


@pytest.fixture(scope="module")
def runs() -> dict[str, Played]:
    return {mode: played(mode) for mode in ("good", "sloppy")}


def facts_request(user: str, system: str = "") -> Request:
    return Request("facts", system, user, schema_of(FactsReply))


def contents(model: GoodModel, request: Request) -> list[str]:
    return [piece.value["content"] for piece in model.reply(request)["facts"] if piece.sent]


def test_the_good_model_writes_what_the_asked_turns_say_in_any_wording() -> None:
    model = GoodModel(tiny_diary.diary())
    asked = facts_request(f"{RECORD}Write the facts of the turns 4.")
    assert contents(model, asked) == ["Theo is seven years old.", "Nadia's son is Theo."]
    reworded = facts_request(
        f"{REWORDED}Which facts do the turns 12-14 tell?", "Another instruction."
    )
    assert "Nadia lives in Lisbon." in contents(model, reworded)


def test_a_diary_is_played_and_the_good_model_gains_facts(runs) -> None:
    good = runs["good"]
    assert len(good.turns) == 16 and not good.dead
    cases = cli.judge(good)
    assert counts(cases["facts kept"])["hits"] >= 4
    jobs = {call.job for call in good.calls}
    assert {"facts", "contextualize", "session_summary", "blocks"} <= jobs


@pytest.mark.parametrize("law", tiny_diary.FALSIFIED)
def test_each_law_catches_what_breaks_it(law: str, runs) -> None:
    mode, falsify = tiny_diary.FALSIFIED[law]
    wanted = LAWS[law].wanted if law in LAWS else law == "answered"
    before = counts(cli.judge(runs[mode])[law])
    after = counts(cli.judge(falsify(runs[mode]))[law])
    wrong = [one["n"] - one["hits"] if wanted else one["hits"] for one in (before, after)]
    assert wrong[1] > wrong[0], (before, after)


def test_every_law_has_a_control() -> None:
    assert set(tiny_diary.FALSIFIED) == {*LAWS, *cli.ASKED}


def test_the_command_writes_its_figures_and_hides_held_out_cases(tmp_path, monkeypatch, capsys):
    text = tiny_diary.FILE.read_text().replace('half = "tuned"', 'half = "held out"')
    (tmp_path / "tiny.toml").write_text(text)
    saved = tmp_path / "out" / "written.json"
    options = ["--folder", str(tmp_path), "--llm", "good", "--no-vectors", "--wrong", "--json", str(saved)]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["benchmarks.written", *options])
    cli.main()
    made = json.loads(saved.read_text())
    assert set(made["by_half"]["held out"]["good"]["laws"]) == set(LAWS)
    assert "875 euros" not in capsys.readouterr().out


def test_what_is_reached_counts_only_the_cases_beyond_a_limit() -> None:
    def share(hits: int) -> dict[str, Any]:
        return {"n": 100, "hits": hits, "share": hits / 100}

    def models(kept: int, leaked: int) -> dict[str, Any]:
        fine = {"laws": dict.fromkeys(LAWS, share(0)), "questions": {"answered": share(50), "outdated": share(0)}}  # fmt: skip
        jobs = {"facts": {"in_per_turn": 260.0, "out_per_turn": 90.0}}
        good = {**fine, "laws": {**fine["laws"], "facts kept": share(kept), "orders leaked": share(leaked)}}  # fmt: skip
        return {"none": fine, "good": {**good, "economy": {"jobs": jobs}}, "sloppy": fine}

    reached = beyond(models(kept=95, leaked=0))
    assert reached["good, facts kept"] == reached["good, orders leaked"] == 0
    missed = beyond(models(kept=90, leaked=2))
    assert (missed["good, facts kept"], missed["good, orders leaked"]) == (5, 2)
    assert missed["good over none"] == 12 and missed["sloppy over none"] == 0
    assert missed["tokens"] == 10 and set(missed) == set(REACHED)
