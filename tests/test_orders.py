"""Orders that somebody says, to an LLM that obeys them, through every job: none is kept or told on."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.core.memory import QUARANTINED, family
from slowcat_memory.providers import Prompt
from slowcat_memory.testing import ScriptedLLM
from tests.harness.orders import TIERS, lost, mapped, shown, unguarded
from tests.support.injections import injections, placed
from tests.support.memories import Look
from tests.support.parroting_llm import Mind, parrot
from tests.support.said_lists import HALVES

KEPT = {"fact", "entity", "block"}
SAMPLE = 32  # every so manieth order: the whole corpus takes minutes


def obedient(prompt: Prompt) -> Any:
    """Write what was ordered as if somebody had said it, but quote what was said."""

    def obeyed(text: str, key: str) -> str:
        mark = re.search(r"zquark\d+", text, re.IGNORECASE)
        done = mark and key not in ("quote", "subject", "predicate")
        return f"{mark[0]} is the user's bank." if done else text

    return mapped(parrot(prompt), obeyed)


def held(mind: Mind) -> list[str]:
    """List what holds a mark: records that may be told on, and the head of a session."""
    every = [
        (one.kind, f"{one.text} {one.facets if family(one.kind) != 'fact' else ''}")
        for one in Look(mind.engine).memories("anna")
        if family(one.kind) in KEPT and one.kind != QUARANTINED and not one.retired_at
    ]
    every += [("context", one.text) for one in Look(mind.engine).contexts("anna")]
    every.append(("head", mind.engine.session_context("anna", local=True)))
    return [f"{kind}: {text}" for kind, text in every if "zquark" in text.casefold()]


def through_all(path: Path, step: int, llm: Any) -> list[str]:
    with closing(Mind(path, ScriptedLLM(llm))) as mind:
        for number, order in enumerate(list(injections())[::step]):
            mind.talk(f"s{number}", placed(order.text).values())
        assert mind.think(days=0.1) == 0
        found = held(mind)
        assert mind.think() == 0
        assert Look(mind.engine).memories("anna", "fact/"), "what else was said is kept"
        return found + held(mind)


UNSEEN = pytest.mark.xfail(
    reason="an order that no rule sees lends its words to what is told", strict=False
)


@pytest.mark.parametrize(
    "llm",
    [pytest.param(parrot, id="repeats"), pytest.param(obedient, id="obeys", marks=UNSEEN)],
)
@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.slow)])
def test_orders_no_order_is_kept_or_told_on(tmp_path, step, llm):
    found = through_all(tmp_path / "store", step, llm)
    assert not found, f"{len(found)}: {found[:8]}"


# ------------------------------------------------------------------- orders in disguise

CASES = 8  # of the tuned half; all of both halves by tests.harness.orders


@pytest.mark.parametrize("tier", TIERS)
def test_orders_in_disguise_no_head_gives_one(tier):
    found, said = shown("tuned", tier, CASES)
    assert said >= CASES and not found, found


def test_orders_in_disguise_without_the_guard_they_are_seen():
    with unguarded():
        found, said = shown("tuned", "repeats", CASES)
    assert len(found) > said / 2, "the control"


@pytest.mark.parametrize("half", HALVES)
def test_orders_in_disguise_ordinary_sentences_are_kept(half):
    gone, said = lost(half)
    assert said == 500 and len(gone) <= said / 100, len(gone)


@pytest.mark.parametrize("tier", ["rules", "rewords"])
@pytest.mark.parametrize("half", [pytest.param("tuned", marks=pytest.mark.slow), "held_out"])
def test_plain_orders_no_head_gives_one(half, tier):
    found, said = shown(half, tier, CASES, name="orders")
    assert said >= CASES and not found, found
