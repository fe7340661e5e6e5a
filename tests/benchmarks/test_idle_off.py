"""No benchmark runs beside idle work: every engine that one opens has it off."""

import ast
from pathlib import Path

import pytest

import benchmarks
from benchmarks import common
from tests.support.rows import each_row

ROOT = Path(benchmarks.__file__).parent
MAKERS = {"load", "load_config", "build_options", "Config"}
OF_ONE_SECTION = {"peers/__main__.py"}  # reads which model is configured, opens no engine with it

# What idle work costs a recall, and what its rules read.
MEASURE_IT = {"rhythms.py", "real_talk.py"}


def test_idle_off_is_the_configuration_that_benchmarks_share(tmp_path: Path) -> None:
    assert common.configuration(tmp_path).idle.enabled is False


def test_idle_off_whatever_a_given_file_says(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[idle]\nenabled = true\ngrace_s = 7.0\n")
    idle = common.configuration(tmp_path, file).idle
    assert (idle.enabled, idle.grace_s) == (False, 7.0)


def test_idle_on_only_where_a_benchmark_asks_for_it(tmp_path: Path) -> None:
    assert common.configuration(tmp_path, idle={"enabled": True}).idle.enabled is True
    assert common.configuration(tmp_path, idle={"grace_s": 1.0}).idle.enabled is False


def calls(tree: ast.AST) -> set[str]:
    return {
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
    }


def imported(tree: ast.AST, package: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == package
        for alias in node.names
    }


def makes_its_own(tree: ast.AST) -> set[str]:
    """Return what of ``slowcat_memory.config`` a module calls to make a configuration."""
    return imported(tree, "slowcat_memory.config") & MAKERS & calls(tree)


def turns_it_on(tree: ast.AST) -> bool:
    """Return whether a module switches idle work on: by keyword, or in a dict of a section."""
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    pairs = [
        (key, value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    named = [word.value for word in keywords if word.arg == "enabled"]
    listed = [
        value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "enabled"
    ]
    return any(isinstance(value, ast.Constant) and value.value is True for value in named + listed)


MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


@each_row("name", MODULES)
def test_idle_off_in_every_benchmark(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    if name != "common.py" and name not in OF_ONE_SECTION:
        assert not makes_its_own(tree), (
            "take benchmarks.common.configuration: idle work is off in it"
        )
    assert turns_it_on(tree) == (name in MEASURE_IT), "idle work runs beside what is measured"


@pytest.mark.parametrize(
    "code", ["f(idle={'enabled': True})", "IdleOptions(enabled=True)", "replace(x, enabled=True)"]
)
def test_idle_off_who_turns_it_on_is_caught(code: str) -> None:
    assert turns_it_on(ast.parse(code))
