"""PlacedBlocks in a context that another person reads."""

from datetime import UTC, datetime

from slowcat_memory.core.render.memory_block import Packed, PackOptions, pack
from slowcat_memory.processor.context_messages import BLOCKS_KEPT, PlacedBlocks
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.recall.query import Recollection

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def hit(scope: str, text: str) -> Hit:
    memory = Memory(id=text, kind="note", scope=scope, speaker=scope, text=text, valid_from=NOON)
    return Hit(memory=memory, score=1.0)


def packed(found: Recollection) -> Packed:
    return pack(found.hits, NOON, UTC, PackOptions())


def context(blocks: PlacedBlocks, *hits: Hit, parts: bool = False) -> list[dict]:
    found = Recollection(hits=list(hits))
    content = [{"type": "text", "text": "hello"}] if parts else "hello"
    message = {"role": "user", "content": content}
    injection.prefix(message, packed(found).text)
    blocks.add(found, packed(found))
    return [{"role": "system", "content": "x"}, message, {"role": "assistant", "content": "hi"}]


def test_placed_blocks_strip_what_all_may_read_stays_untouched() -> None:
    blocks = PlacedBlocks()
    messages = context(blocks, hit("home", "pump"), hit("anna", "cellar"))
    before = str(messages)
    assert blocks.strip(messages, ("anna", "home"), packed) == [] and str(messages) == before


def test_placed_blocks_strip_households_lines_stay_where_another_speaks() -> None:
    for parts in (False, True):
        blocks = PlacedBlocks()
        messages = context(blocks, hit("home", "pump"), hit("anna", "cellar"), parts=parts)
        ((message, left),) = blocks.strip(messages, ("ben", "home"), packed)
        assert message is messages[1] and [h.memory.text for h in left.hits] == ["pump"]
        assert "pump" in str(message) and "cellar" not in str(message)
        assert injection.without_block(injection.message_text(message)).strip() == "hello"
        assert blocks.strip(messages, ("ben", "home"), packed) == []


def test_placed_blocks_strip_block_of_which_nothing_stays_goes() -> None:
    blocks = PlacedBlocks()
    messages = context(blocks, hit("anna", "cellar"))
    blocks.strip(messages, ("ben",), packed)
    assert messages[1]["content"] == "hello"


def test_placed_blocks_strip_block_that_nobody_knows_goes() -> None:
    messages = context(PlacedBlocks(), hit("anna", "cellar"))
    PlacedBlocks().strip(messages, ("anna",), packed)
    assert messages[1]["content"] == "hello"


def test_placed_blocks_strip_only_so_many_are_remembered() -> None:
    blocks = PlacedBlocks()
    messages = context(blocks, hit("anna", "cellar"))
    for n in range(BLOCKS_KEPT):
        context(blocks, hit("anna", f"word {n}"))
    blocks.strip(messages, ("anna",), packed)
    assert messages[1]["content"] == "hello"
