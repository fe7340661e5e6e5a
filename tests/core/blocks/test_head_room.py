"""What a session begins with: each thing once, the important first, within 300 tokens."""

import json
from datetime import UTC, datetime, timedelta
from itertools import combinations
from zoneinfo import ZoneInfo

import pytest

from slowcat_memory.core.blocks.session_head import HeadOptions, SessionStart, session_preamble
from slowcat_memory.core.render.head_blocks import size
from slowcat_memory.core.render.repeats import Told, split
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.records import Made, Memory, Statement
from tests.support import said
from tests.support.rows import DATA, each_row

NOW = datetime(2026, 11, 18, 18, tzinfo=UTC)
MADE = Made(job="blocks", version=2, model="m")
TEXTS = json.loads((DATA / "rules/head.json").read_text("utf-8"))
SUMMARY, HUMAN = TEXTS["summary"], TEXTS["human"]
DATED = (
    ("event", "Anna's dentist is on 20 November 2026", "2026-11-20"),
    ("event", "Anna moves on 28 November 2026", "2026-11-28"),
    ("open_thread", "Anna waits for a letter from the landlord", ""),
)


def memory(kind: str, text: str, **more: object) -> Memory:
    return said.memory(kind, text, **{"valid_from": NOW - timedelta(days=1), "made": MADE} | more)


def head(language: str = "english", options: HeadOptions = HeadOptions(), **more: object) -> str:
    memories = (
        memory("block/human", HUMAN[language]),
        *(memory(f"block/{label}", text) for label, text in TEXTS["blocks"].items()),
        *(memory(f"fact/{kind}", text, statement=Statement(date=day)) for kind, text, day in DATED),
    )  # fmt: skip
    given: dict[str, object] = {"moment": NOW, "talks": 11, "last": NOW - timedelta(days=1), "user": "Anna",
                                "memories": memories, "summary": memory("summary/session", SUMMARY)}  # fmt: skip
    start = SessionStart(**{**given, **more})  # type: ignore[arg-type]
    return session_preamble(start, ZoneInfo("Europe/Berlin"), options, language)


ASKED = memory(
    "icebreaker", "Ask Anna whether the landlord answered, as she has waited since 4 November."
)


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("icebreaker", [None, ASKED], ids=["no icebreaker", "icebreaker"])
def test_a_session_begins_with_at_most_300_tokens(language: str, icebreaker: Memory | None) -> None:
    text = head(language, icebreaker=icebreaker)
    assert 200 < estimate_tokens(text) <= 300


def test_nothing_is_told_twice() -> None:
    lines = [one for line in head(options=HeadOptions(head_chars=5000)).splitlines()[2:-1]
             for one in split(line.removeprefix("Recent: ").removeprefix("- "))]  # fmt: skip
    for first, second in combinations(lines, 2):
        told = Told(("Anna",))
        told.add(first)
        assert not told.repeats(second), (first, second)


@each_row("room", range(0, 1500, 50))
def test_no_sentence_is_cut_and_no_room_is_exceeded(room: int) -> None:
    text = head(options=HeadOptions(head_chars=room, profile_chars=0))
    lines = [line for line in text.splitlines()[2:-1] if not line.startswith("You have talked")]
    assert sum(size(line) + 1 for line in lines) <= room + 1
    assert room < 100 or "..." not in text


def test_a_block_that_a_person_wrote_comes_first() -> None:
    own = memory("block/house_rules", "Speak slowly. Never mention the neighbour.", made=None)
    text = head(options=HeadOptions(head_chars=200), memories=(own, memory("block/human", HUMAN["english"])))  # fmt: skip
    assert "Speak slowly. Never mention the neighbour." in text
