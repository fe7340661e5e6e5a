"""Code in the docs is right: Python names what exists, TOML is a configuration, targets are there."""

import ast
import functools
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from slowcat_memory.config.loader import build
from slowcat_memory.engine.memory import Memory
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor import HybridContextualMemoryProcessor as Processor
from slowcat_memory.processor.engine_handle import Overrides
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "examples/README.md"]
PAGES += [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.M | re.S)
# What a name in an example stands for.
STANDS_FOR = {"memory": Processor, "engine": Memory}
OF_EXAMPLES = {"config", "engine"}  # of ``Memory``: attributes that only an instance has


@functools.cache
def sources() -> str:
    files = (ROOT / "slowcat_memory").rglob("*.py")
    return "".join(file.read_text("utf-8") for file in files)


def blocks(text: str, language: str) -> Iterator[str]:
    """Yield the code blocks of a page in one language, without their indentation."""
    for indent, named, body in FENCE.findall(text):
        if named == language:
            yield re.sub(rf"^{indent}", "", body, flags=re.M)


def unknown_names(code: str) -> list[str]:
    """Return what a block of Python uses of this package and is not there."""
    return sorted(name for node in ast.walk(ast.parse(code)) for name in _unknown(node))


def _unknown(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slowcat_memory"):
        module = importlib.import_module(node.module or "")
        yield from (one.name for one in node.names if not hasattr(module, one.name))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == Processor.__name__:
            known = {*Processor._OWN, *Overrides.__annotations__}
            given = (one.arg for one in node.keywords if one.arg)
            yield from (f"{Processor.__name__}({name}=)" for name in given if name not in known)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        kind = STANDS_FOR.get(node.value.id)
        known_here = kind and (hasattr(kind, node.attr) or node.attr in kind.__annotations__)
        if kind and not known_here and node.attr not in OF_EXAMPLES:
            yield f"{node.value.id}.{node.attr}"


def wrong_settings(text: str) -> list[str]:
    """Return what is wrong with the blocks of TOML that set something of ours."""
    found = []
    for block in blocks(text, "toml"):
        try:
            build(tomllib.loads(block), {})
        except (ConfigError, tomllib.TOMLDecodeError) as error:
            found.append(str(error))
    return found


def missing_targets(text: str) -> list[str]:
    """Return targets of make, and example files, that a page names and there are not."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    named = re.findall(r"(?:`|^)make ([a-z-]+)", text, re.M)
    files = re.findall(r"python (examples/\w+\.py)", text)
    return sorted({*named} - {*targets}) + [one for one in files if not (ROOT / one).exists()]


def unknown_extras(text: str) -> list[str]:
    """Return extras of our package that a page installs and pyproject.toml does not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = re.findall(r"(?:pipecat-slowcat-memory|\"(?:\.|/src))\[([\w, -]+)\]", text)
    given = {extra.strip() for group in named for extra in group.split(",")}
    return sorted(given - {*project["optional-dependencies"]})


def unknown_variables(text: str) -> list[str]:
    """Return environment variables of ours that no source reads; ``__`` sets a knob."""
    named = set(re.findall(r"\bSLOWCAT_[A-Z_]+\b", text))
    return sorted(one for one in named if "__" not in one and f'"{one}"' not in sources())


def unknown_events(text: str) -> list[str]:
    """Return events of the processor that a page names and it does not have."""
    named = set(re.findall(r"(?<!_)\bon_[a-z_]+\b", text)) - {"on_battery"}
    return sorted(one for one in named if not re.search(rf"\b{one}\b", sources()))


@each_row("page", PAGES)
def test_docs_code_names_what_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert [name for code in blocks(text, "python") for name in unknown_names(code)] == []
    assert wrong_settings(text) == []
    assert missing_targets(text) == []
    assert unknown_extras(text) == []
    assert unknown_variables(text) == []
    assert unknown_events(text) == []


@each_row(
    ("find", "text", "found"),
    [
        (unknown_names, "from slowcat_memory import Brain", ["Brain"]),
        (unknown_names, "await memory.ponder()", ["memory.ponder"]),
        (unknown_names, "engine.recall_all('x')", ["engine.recall_all"]),
        (
            unknown_names,
            "HybridContextualMemoryProcessor(user='a')",
            ["HybridContextualMemoryProcessor(user=)"],
        ),
        (missing_targets, "run `make coffee`\nmake test", ["coffee"]),
        (missing_targets, "python examples/no_bot.py", ["examples/no_bot.py"]),
        (unknown_extras, 'pip install "pipecat-slowcat-memory[models, gpu]"', ["gpu"]),
        (unknown_extras, 'pip install ".[dev,tests]"', ["tests"]),
        (unknown_variables, "SLOWCAT_CONFIG and SLOWCAT_SPEED=1", ["SLOWCAT_SPEED"]),
        (unknown_events, "`on_memory_recalled`, `on_memory_lost`", ["on_memory_lost"]),
    ],
)
def test_docs_code_that_names_what_does_not_exist_is_caught(find, text: str, found: list) -> None:
    assert find(text) == found


def test_docs_code_a_setting_that_does_not_exist_is_caught() -> None:
    (wrong,) = wrong_settings('```toml\n[recall]\nhaste = 3\n```\n```toml\npreset = "small"\n```\n')
    assert "recall.haste" in wrong
