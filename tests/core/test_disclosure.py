"""Which memories a reader may see, and what a derived memory inherits: the rules alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.core import disclosure
from slowcat_memory.core.blocks.block import block, revised
from slowcat_memory.core.disclosure import (
    Reader,
    corrected_marks,
    disclose,
    has_marked_origin,
    is_listed,
    origins,
)
from slowcat_memory.core.facts.merging import Pair, merge
from slowcat_memory.records import Memory
from tests.support import said
from tests.support.rows import cases, listed
from tests.support.said import NOON

HERE, AWAY = Reader(frozenset({"anna"}), local=True), Reader(frozenset({"anna"}))


def memory(id: str, *sources: int, **more: Any) -> Memory:
    return said.memory(
        **{"kind": id.partition("/")[0], "text": id, "id": id, "sources": sources} | more
    )


def chunk(turn: int, *, local: bool = True) -> Memory:
    return memory(f"chunk/{turn}", turn, local_only=local)


def find(*stored: Memory) -> Any:
    known = {(one.scope, one.id): one for one in stored}
    return lambda scope, id: known.get((scope, id))


@cases("rules/disclosure.jsonl")
def test_disclosure_of_a_memory_depends_on_reader_and_place(scopes, local, shown):
    reader = Reader(frozenset(scopes), local=local)
    stored = [memory("note/1"), memory("note/2", local_only=True)]
    stored.append(memory("fact/1", kind="fact/quarantined"))
    assert [one.id for one in stored if disclose(one, reader)] == shown


def test_disclosure_of_a_context_is_for_this_machine_alone() -> None:
    described = memory("chunk/1", 1, context="Made from the turns around it.")
    assert disclose(described, HERE) == described
    shown = disclose(described, AWAY)
    assert shown is not None and shown.context == ""


def derived(id: str, sources: Any = (), derived_from: Any = (), **more: Any) -> Memory:
    """Return a memory as a list has it."""
    return memory(id, *sources, derived_from=tuple(map(tuple, derived_from)), **more)


CHAINS = {
    name: tuple(derived(**row) for row in rows)
    for name, rows in listed("rules/disclosure.jsonl", "chains")
}


@pytest.mark.parametrize("name", CHAINS)
def test_disclosure_of_what_was_made_from_it_is_refused_however_far_away(name: str) -> None:
    chain = CHAINS[name]
    stored = [*chain, chunk(1)]
    corrected = corrected_marks(stored, lambda origin: False)
    assert [(one.id, one.local_inherited) for one in corrected] == [(one.id, True) for one in chain]
    assert [disclose(one, AWAY) for one in corrected] == [None] * len(chain)
    assert [disclose(one, HERE) for one in corrected] == corrected
    opened = [*corrected, chunk(1, local=False)]
    assert corrected_marks(opened, lambda origin: False) == list(chain)


def test_disclosure_a_mark_stays_when_its_origin_was_deleted() -> None:
    reply = memory("chunk/9", 9, derived_from=(("anna", "note/1"),), local_only=True)
    reply = replace(reply, local_inherited=True)
    assert corrected_marks([reply], lambda origin: None) == []
    (opened,) = corrected_marks([reply], lambda origin: False)
    assert not opened.local_only


def test_disclosure_of_marks_reads_each_origin_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work grows with the memories, not with their square."""
    reads = 0

    def counted(one: Memory) -> Any:
        nonlocal reads
        for origin in origins(one):
            reads += 1
            yield origin

    monkeypatch.setattr(disclosure, "origins", counted)

    def work(n: int) -> int:
        nonlocal reads
        reads = 0
        chain = [memory(f"day/{i}", 1, derived_from=(("anna", f"day/{i - 1}"),)) for i in range(n)]
        assert len(corrected_marks([*chain, chunk(1)], lambda origin: False)) == n
        return reads

    assert work(2000) <= 2.1 * work(1000)


@cases("rules/disclosure.jsonl")
def test_disclosure_lists_facts_notes_and_what_is_pinned(kind, pinned, listed):
    assert is_listed(memory("x/1", kind=kind, pinned=pinned)) is listed


# ------------------------------------------------------------------- what replaces a memory


def test_disclosure_a_new_version_of_a_block_kept_here_is_kept_here() -> None:
    def written(text: str) -> Memory:
        return block("human", text, scope="anna", speaker="Anna", now=NOON)

    (first,) = revised((), written("one"), owner="agent", limit=99)
    kept = replace(first, local_only=True)
    *_, second = revised((kept,), written("two"), owner="agent", limit=99)
    assert second.text == "two" and second.local_only
    inherited = replace(kept, local_inherited=True)
    *_, second = revised((inherited,), written("two"), owner="agent", limit=99)
    assert not second.local_only, "that comes with its origins"


def test_disclosure_a_fact_that_stands_for_one_kept_here_is_kept_here() -> None:
    older = memory("fact/1", 1, kind="fact/person")
    newer = memory("fact/2", 2, kind="fact/person", local_only=True)
    kept, gone = merge(Pair(older, newer), "same", NOON)
    assert (kept.id, gone.id) == ("fact/1", "fact/2")
    assert has_marked_origin(kept, find(gone))
