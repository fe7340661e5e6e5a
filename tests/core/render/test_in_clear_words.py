"""What a turn leaves open stands in the words of its facts, where there is room."""

from datetime import UTC, datetime

from slowcat_memory.core.render.memory_block import FACTS, PackOptions, pack
from slowcat_memory.records import Hit, Memory
from tests.support.rows import each_row, listed

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)


def hit(text: str, *facts: str, speaker: str = "Anna") -> Hit:
    memory = Memory(
        id=text[:20], kind="chunk", scope="anna", speaker=speaker, text=text, valid_from=NOW,
        facets={FACTS: "\n".join(facts)} if facts else {},
    )  # fmt: skip
    return Hit(memory=memory, score=0.5)  # type: ignore[arg-type]


def line(text: str, *facts: str, **options: int) -> str:
    return pack([hit(text, *facts)], NOW, UTC, PackOptions(**options)).text.splitlines()[1]


@each_row(("said", "fact"), listed("rules/in_clear_words", "added"))
def test_who_or_which_day_is_meant_is_added_in_brackets(said: str, fact: str) -> None:
    assert line(said, fact) == f"- (today) Anna: {said} ({fact})"


@each_row(("said", "fact"), listed("rules/in_clear_words", "clear"))
def test_nothing_is_added_to_what_is_clear(said: str, fact: str) -> None:
    assert line(said, fact) == f"- (today) Anna: {said}"


def test_a_number_that_was_cut_away_is_added() -> None:
    said = "so the boat is gone, " + "and he went on and on about it " * 12 + "I got six hundred"
    fact = "Anna got 600 for the boat."
    assert line(said, fact, memory_tokens=20).endswith(f"… ({fact})")


def test_facts_take_no_room_from_memories() -> None:
    fact = "Marek lends Anna his trailer on 16 May 2026 for the whole day."
    memories = [hit("he's lending me his trailer", fact), hit("the kitchen is blue now")]
    bare = pack([hit("he's lending me his trailer"), memories[1]], NOW, UTC, PackOptions())
    tight = PackOptions(memory_token_budget=bare.tokens + 3)
    assert pack(memories, NOW, UTC, tight).text == bare.text
    wide = pack(memories, NOW, UTC, PackOptions(memory_token_budget=bare.tokens + 40))
    assert fact in wide.text and bare.tokens < wide.tokens <= bare.tokens + 40
