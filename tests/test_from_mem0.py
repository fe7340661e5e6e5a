"""The page for who comes from Mem0: its parameters, its snippet."""

import ast
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.processor.keywords import Overrides
from tests.harness.import_trips import import_file
from tests.support.memories import engine_of
from tests.support.sources import members, source_of
from tests.support.stores import configured

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "from-mem0.md").read_text()


def test_from_mem0_every_parameter_of_both_is_on_the_page():
    source = source_of("pipecat.services.mem0.memory")
    taken = members("Mem0MemoryService", source) - {"self"}
    params = {
        node.target.id
        for cls in ast.walk(ast.parse(source.read_text()))
        if isinstance(cls, ast.ClassDef) and cls.name == "InputParams"
        for node in cls.body
        if isinstance(node, ast.AnnAssign)
    }
    assert {"search_limit", "position"} <= params
    for name in (taken - {"params"}) | {f"params.{name}" for name in params}:
        assert f"`{name}`" in PAGE, name
    ours = (
        HybridContextualMemoryProcessor.__init__.__kwdefaults__.keys()
        | Overrides.__annotations__.keys()
    )
    for name in ("user_id", "config", "path", "engine", "aggregators", "speaker_names"):
        assert name in ours and f"`{name}`" in PAGE
    assert "add_instruction" in ours


def test_from_mem0_the_snippet_brings_memories_over(tmp_path, monkeypatch):
    (snippet,) = (b for b in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "get_all" in b)
    kept = [
        {"memory": "Allergic to walnuts.", "created_at": "2026-01-02T03:04:05+00:00"},
        {"memory": "Has a dog.", "created_at": None},
    ]

    module = Mock()
    get_all = module.Memory.from_config.return_value.get_all
    get_all.return_value = {"results": kept}
    monkeypatch.setitem(sys.modules, "mem0", module)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "snippet", "exec"), {"local_config": {}})
    assert get_all.call_args.kwargs["filters"] == {"user_id": "anna"}
    with engine_of(configured(tmp_path / "store")) as engine:
        for _ in range(2):
            done = import_file(engine, tmp_path / "mem0.json", scope="anna", on_error=pytest.fail)
        assert done.notes == 2
        found = engine.search("what am I allergic to, walnuts?", "anna").hits
        assert found[0].memory.text == "Allergic to walnuts."
        assert found[0].memory.valid_from.year == 2026
