"""Questions asked again: what the conversation holds already is not replaced by fillers."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Hit
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import memory_config
from tests.support.said import turn_at

LISTS = Path(__file__).parents[2] / "data" / "follow_ups"
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
FLOOR = 0.10
MOST_FILLERS = {"tuned": 6, "held_out": 2}  # of 16 questions each; 44 and 38 before


def lists(half: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield language, earlier turns and dialogues."""
    for part in (LISTS / f"{half}.txt").read_text("utf-8").split("\n[")[1:]:
        language, _, rest = part.partition("]\n")
        told, _, dialogues = rest.partition("\n--\n")
        rows = [line.split(" | ") for line in dialogues.splitlines() if line.strip()]
        yield language, told.splitlines(), rows


class Asked:
    """An engine with earlier turns, and one conversation for each dialogue."""

    def __init__(self, config: Config, told: Sequence[str]) -> None:
        self.engine, self._count = MemoryEngine(config, clock=lambda: NOW), len(told)
        for n, text in enumerate(told):
            self._say(f"past-{n // 5}", text, "user", NOW - timedelta(days=60 - n))
        self.engine.flush(indexed=True)

    def _say(self, session: str, text: str, role: str, at: datetime) -> int:
        who = {"role": role, "speaker": "Anna" if role == "user" else "Assistant"}
        return self.engine.append(turn_at(text, at, session=session, scope="user", **who)).id

    def follow_up(self, question: str, answer: str, again: str) -> tuple[Sequence[Hit], ...]:
        """Return the memories offered to a question and, in the same conversation, to the next."""
        first, session = self._offered(question), question + again
        texts = ((question, "user"), (answer, "assistant"))
        ids = [chunk_id(self._say(session, text, role, NOW)) for text, role in texts]
        self.engine.flush(indexed=True)
        words = {question, answer, again, *(hit.memory.text for hit in first)}
        how = {
            "exclude": frozenset({ids[0], *(hit.memory.id for hit in first)}),
            "exclude_words": frozenset(map(fingerprint, words)),
            "dialogue": (DialogueTurn(question, NOW, ids[0]), DialogueTurn(answer, NOW, ids[1])),
        }
        return first, self._offered(again, **how)

    def _offered(self, text: str, **how: Any) -> Sequence[Hit]:
        asked = Query(text=text, scope="user", now=NOW, local=True, **how)
        return self.engine.blocks.pack(self.engine.retrieval.answer(asked), NOW).hits


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_follow_ups_are_answered_from_the_conversation_and_get_no_fillers(
    half, model_config, tmp_path
):
    fillers, missing, below = list[str](), list[str](), list[Hit]()
    for language, told, dialogues in lists(half):
        spoken, local = {"language": language}, {"kind": "local"}
        asked = Asked(memory_config(tmp_path / language, memory=spoken, embedding=local), told)
        for question, answer, again, expected in dialogues:
            first, second = asked.follow_up(question, answer, again)
            below += [hit for hit in (*first, *second) if hit.probability < FLOOR]
            texts = [hit.memory.text for hit in second]
            known = [*texts, *(hit.memory.text for hit in first)]
            if expected == "-":
                fillers += texts
            elif not any(expected in text for text in known):
                missing.append(again)
        asked.engine.close()
    assert not below and len(fillers) <= MOST_FILLERS[half] and len(missing) <= 1, fillers
