"""What a turn leaves open stands in the words of its facts, where there is room."""

from datetime import UTC, datetime

from slowcat_memory.core.render.memory_block import FACTS, PackOptions, pack
from slowcat_memory.records import Hit, Memory
from tests.support.rows import each_listed

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)


def hit(text: str, *facts: str, speaker: str = "Anna") -> Hit:
    memory = Memory(
        id=text[:20], kind="chunk", scope="anna", speaker=speaker, text=text, valid_from=NOW,
        facets={FACTS: "\n".join(facts)} if facts else {},
    )  # fmt: skip
    return Hit(memory=memory, score=0.5)  # type: ignore[arg-type]


def line(text: str, *facts: str, **options: int) -> str:
    return pack([hit(text, *facts)], NOW, UTC, PackOptions(**options)).text.splitlines()[1]


@each_listed("rules/in_clear_words", "added")
def test_who_or_which_day_is_meant_is_added_in_brackets(said: str, fact: str) -> None:
    assert line(said, fact) == f"- (today) Anna: {said} ({fact})"
