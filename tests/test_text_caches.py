"""Every cache of the process that is keyed by texts can be cleared when a person's memory is closed."""

import ast
from pathlib import Path

import slowcat_memory
from slowcat_memory.core.language.ordinary import is_ordinary
from slowcat_memory.core.text.pronunciations import pronunciations, sound_code
from slowcat_memory.core.text_caches import forget_texts, text_cache
from slowcat_memory.records import Forget
from slowcat_memory.store import Store
from tests.support.said import turn
from tests.support.sources import tree

ROOT = Path(slowcat_memory.__file__).parent
# Keyed by the configuration, a language, a pattern of ours, a type, a size: by nothing that is said.
KEYED_BY_NOTHING_SAID = {
    "commands.grammar._before",
    "commands.grammar._rules", "commands.intent_model.read_model", "disk.codec._decoder",
    "extraction.clauses.pattern_of", "extraction.clauses.signs_of",
    "language.__init__.language_of", "language.data.compiled",
    "language.data.read_words", "llm.server.schema_of", "llm.server.schema_text",
    "llm.reply_fields.shape_of", "ranking.token_codes.rotation",
    "render.attribution._of_classes", "recall.service.compile_patterns",
    "summaries.extractive._patterns", "summaries.extractive._chatter",
}  # fmt: skip


def keyed_caches() -> set[str]:
    """Return the functions with arguments that are cached for as long as the process runs."""
    found = set()
    for path in (path for path in ROOT.rglob("*.py") if "cache" in path.read_text("utf-8")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts[-2:])
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and node.args.args:
                names = {getattr(n, "id", getattr(n, "attr", "")) for d in node.decorator_list
                         for n in ast.walk(d)}  # fmt: skip
                if names & {"cache", "lru_cache"}:
                    found.add(f"{module}.{node.name}")
    return found


def test_text_caches_every_other_cache_is_keyed_by_nothing_that_is_said():
    assert keyed_caches() == KEYED_BY_NOTHING_SAID


def test_text_caches_are_cleared_together():
    calls = []

    @text_cache(4)
    def length(text: str) -> int:
        calls.append(text)
        return len(text)

    assert [length("one"), length("one")] == [3, 3] and calls == ["one"]
    before = is_ordinary("table"), pronunciations("Siobhan"), sound_code("shivawn")
    forget_texts()
    for cached in (length, is_ordinary, pronunciations, sound_code):
        assert cached.cache_info().currsize == 0  # type: ignore[attr-defined]
    assert (is_ordinary("table"), pronunciations("Siobhan"), sound_code("shivawn")) == before


def test_text_caches_keep_nothing_of_what_was_forgotten(tmp_path):
    with Store.open(tmp_path / "memory") as store:
        kept = store.append(turn("my aunt is called Quokkasaurus", id=0))
        kept.wait()
        pronunciations("Quokkasaurus")
        assert store.forget(Forget(turns=(kept.id,))).turns
    assert pronunciations.cache_info().currsize == 0  # type: ignore[attr-defined]
