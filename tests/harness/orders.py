"""Measures the guard: orders that reach the head of a session, ordinary sentences that are lost.

    python -m tests.harness.orders [--cases N]

Each injection is said in a session of its own user, idle work runs with one of three tiers (rules
alone, an LLM that repeats, an LLM that rewords), and the head of the next session is read. An order
is *visible* if the head has it at all, as a quote too. Ordinary
sentences are *lost* if the guard takes away a fact by rule, or a sentence of a summary. A control
without the guard must show orders.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from slowcat_memory.core.blocks import session_head
from slowcat_memory.core.extraction import prompt_injection
from slowcat_memory.core.extraction.grounding import ground, held
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.summaries.extractive import split_turn
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Turn
from slowcat_memory.testing import ScriptedLLM
from tests.support.parroting_llm import Mind, parrot
from tests.support.said_lists import HALVES, Case, Half, cases, ordinary

BESIDE = "We had soup for lunch today and it was good."
AT = datetime(2026, 5, 11, 9, tzinfo=UTC)
THIRD = {
    "i": "Anna", "my": "Anna's", "me": "Anna", "you": "the assistant", "your": "the assistant's",
    "ich": "Anna", "mein": "Annas", "meine": "Annas", "mir": "Anna", "mich": "Anna",
    "du": "der Assistent", "dein": "des Assistenten", "deine": "des Assistenten",
}  # fmt: skip
_PERSONS = re.compile(rf"\b(?:{'|'.join(THIRD)})\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?…;])\s+")


def rewording(prompt: Prompt) -> dict[str, Any]:
    """Write in the third person what was said, but quote it."""

    def reworded(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: reworded(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [reworded(one, key) for one in value]
        if not isinstance(value, str) or key in ("quote", "subject", "name", "type", "field"):
            return value
        return _PERSONS.sub(lambda match: THIRD[match[0].casefold()], value)

    answer: dict[str, Any] = reworded(parrot(prompt))
    return answer


TIERS: dict[str, Callable[[Prompt], dict[str, Any]] | None] = {
    "rules": None,
    "repeats": parrot,
    "rewords": rewording,
}


def visible(head: str, case: Case) -> str:
    """Return the sentence of a head that gives the order, "" for none."""
    sentences = (one for line in head.splitlines() for one in _SENTENCE.split(line))
    return next((one for one in sentences if case.is_in(one)), "")


def heads(found: list[Case], tier: str, folder: Path) -> Iterator[tuple[Case, str]]:
    """Yield each case with the head of its user's next session."""
    answer = TIERS[tier]
    mind = Mind(folder, ScriptedLLM(answer) if answer else None)
    try:
        for place, case in enumerate(found):
            scope = f"user{place}"
            mind.talk(f"s{place}", [(case.said, "I see."), (BESIDE, "Nice.")], scope=scope)
        assert mind.think(days=0.2) == 0
        for place, case in enumerate(found):
            yield case, mind.engine.session_context(f"user{place}", local=True)
    finally:
        mind.close()


def shown(
    half: Half, tier: str, most: int = 10_000, name: str = "injections"
) -> tuple[list[tuple[Case, str]], int]:
    """Return the visible orders of one half of a list, and how many were said."""
    every = list(cases(half, name))
    found = every[:: max(1, len(every) // most)]
    with tempfile.TemporaryDirectory() as folder:
        told = list(heads(found, tier, Path(folder) / "store"))
    return [(case, one) for case, head in told if (one := visible(head, case))], len(found)


@contextmanager
def unguarded() -> Iterator[None]:
    """Take every sentence for plain talk."""
    plain = mock.patch.object(prompt_injection, "_points", lambda codes, table: 0)
    marks = mock.patch.object(prompt_injection, "_MARKUP", re.compile(r"(?!)"))
    whole = mock.patch.object(session_head, "stated", lambda text, *_, **__: text)
    with plain, marks, whole:
        yield


def kept(sentence: str) -> tuple[int, int, int]:
    """Count what an ordinary sentence gives: facts by rule, quoted sentences, an LLM's sentences."""
    turn = Turn(id=1, session="s", scope="a", speaker="Anna", role="user", text=sentence, at=AT)
    said = len(split_turn(turn.speaker, turn.text, turn.id))
    return len(facts_by_rule(turn, UTC)), said, len(held(sentence, ground([turn], UTC)))


def lost(half: Half) -> tuple[list[str], int]:
    """Return the ordinary sentences of one half that lose anything by the guard."""
    every = ordinary(half)
    with unguarded():
        wanted = [kept(one) for one in every]
    pairs = zip(every, wanted, strict=True)
    return [one for one, before in pairs if kept(one) != before], len(every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000, help="injections of each half")
    parser.add_argument("--show", action="store_true", help="list the tuned ones")
    options = parser.parse_args()
    failures = 0
    print(f"{'':24}{'half':>10}{'found':>8}{'of':>6}{'share':>9}{'target':>9}")
    for half in HALVES:
        rows: list[tuple[str, list[str], int, float]] = []
        for tier in TIERS:
            found, said = shown(half, tier, options.cases)
            limit = 1.0 if tier == "rules" else 3.0
            rows.append(
                (f"visible, {tier}", [f"{c.said} -> {one}" for c, one in found], said, limit)
            )
        rows.append(("ordinary, lost", *lost(half), 1.0))
        for name, one, of, limit in rows:
            share = 100 * len(one) / of
            failures += share > limit
            print(f"{name:24}{half:>10}{len(one):>8}{of:>6}{share:>8.1f}%{limit:>8.1f}%")
            if options.show and half == "tuned":
                print("\n".join(f"    {line}" for line in one))
    with unguarded():
        found, said = shown("tuned", "repeats", 40)
    print(f"{'control: no guard':24}{'tuned':>10}{len(found):>8}{said:>6}")
    raise SystemExit(1 if failures or not found else 0)


if __name__ == "__main__":
    main()
