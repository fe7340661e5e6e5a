"""The drawing in ARCHITECTURE.md, kept true: who may import whom, and who may import what."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import slowcat_memory
from tests.support.layout import circles, repeated
from tests.support.other_process import python
from tests.support.rows import cases, listed

PACKAGE = Path(slowcat_memory.__file__).parent
ROOT = PACKAGE.parent

HOMES = {name: tuple(homes.split()) for name, homes in listed("homes")}
CHILDREN_ONLY = {"torch", "transformers", "sentence_transformers", "onnx", "numba"}
# What only child processes run: whoever else imports it would bring all that in.
CHILDREN = {"providers.embedding.export"}
PARENTS = {f"providers.embedding.export.{name}" for name in ("child", "traced")}


def imports(package: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, what it imports), lazy imports included, for every file of the package."""
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        yield from ((module, name) for name in names_imported(path.read_text("utf-8")))


@cache
def names_imported(source: str) -> tuple[str, ...]:
    """Return what a file imports; copies of the package have nearly the same files."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"relative import of {node.module}"
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def below(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(f"{home}.") for home in homes)


def strangers(package: Path) -> list[str]:
    """List every import of a third party outside its home."""
    return [
        f"{module} imports {name}"
        for module, imported in imports(package)
        if not below(module, HOMES.get(name := imported.partition(".")[0], (module,)))
    ]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the package in a folder to the floors in pyproject.toml."""
    return subprocess.run(
        [sys.executable, "-c",
         "import sys; sys.path.insert(0, ''); from importlinter.cli import lint_imports;"
         "sys.exit(lint_imports(no_cache=True, no_logo=True))"],
        cwd=folder, capture_output=True, text=True, env={"PATH": "", "PYTHONPATH": ""},
    )  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, to be spoilt."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "slowcat_memory", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def spoil(folder: Path, module: str, line: str) -> None:
    path = folder / "slowcat_memory" / module
    path.write_text(f"{path.read_text('utf-8')}\n\ndef _wrong():\n    {line}\n", "utf-8")


# ------------------------------------------------------------------- our own modules


def test_floors_every_module_keeps_to_its_floor():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


@cases("floors")
def test_floors_a_wrong_import_is_caught(copy, module, line):
    spoil(copy, module, line)
    done = lint(copy)
    assert done.returncode == 1 and "0 kept, 1 broken" in done.stdout, done.stdout + done.stderr


def test_floors_a_module_without_a_floor_is_caught(copy):
    (copy / "slowcat_memory" / "helpers.py").write_text("")
    done = lint(copy)
    assert done.returncode == 1 and "helpers" in done.stdout, done.stdout + done.stderr


# ------------------------------------------------------------------- third parties


def test_floors_every_third_party_is_imported_at_its_home_only():
    assert strangers(PACKAGE) == []


@cases("floors")
def test_floors_a_third_party_elsewhere_is_caught(copy, module, line, caught):
    spoil(copy, module, line)
    assert set(strangers(copy / "slowcat_memory")) - set(strangers(PACKAGE)) == {caught}


def test_floors_what_only_children_run_is_imported_by_children_only():
    for module, imported in imports(PACKAGE):
        child = imported.removeprefix("slowcat_memory.")
        if any(below(child, (name,)) for name in CHILDREN):
            assert module in PARENTS, f"{module} imports {imported}"


# ------------------------------------------------------------------- what importing brings


def loaded(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the packages that are loaded after it."""
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    return set(python("-c", f"import sys; {code}; {names}").stdout.split())


def test_floors_the_processor_brings_no_torch():
    brought = loaded("from slowcat_memory import HybridContextualMemoryProcessor")
    assert "pipecat" in brought and not brought & CHILDREN_ONLY


@cases("floors")
def test_floors_below_the_doors_nobody_needs_pipecat(code):
    brought = loaded(code)
    assert "slowcat_memory" in brought
    assert not brought & {"pipecat", "aiohttp", "openai", *CHILDREN_ONLY}


# ------------------------------------------------------------------- the layout inside the floors


def test_circles_none_inside_any_package():
    assert circles(PACKAGE) == []


def test_repeated_no_module_name_stands_in_three_folders():
    assert repeated(PACKAGE) == []
