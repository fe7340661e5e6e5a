"""The layout of the package: no circles, no crowded folders, one meaning for a file name."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import slowcat_memory

PACKAGE = Path(slowcat_memory.__file__).parent
MOST_MODULES = 17
# The same part of another domain: language tables are exempt altogether.
SHARED_NAMES = {"__init__", "options", "prompt", "forget"}


def modules(package: Path) -> dict[str, Path]:
    """Return every module by its dotted name, the package's own name left out."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: set[str]) -> Iterator[str]:
    """Yield the modules of the package that a file imports, lazily or not, but not for types alone."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            base = (node.module or "").removeprefix("slowcat_memory").strip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}".strip(".")
                if (node.module or "").startswith("slowcat_memory"):
                    yield full if full in known else base


def arrows(package: Path) -> dict[str, dict[str, set[str]]]:
    """Return for each package the imports among its direct children: package, child, children."""
    known = modules(package)
    drawn: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, path in known.items():
        for other in imported(path, set(known)):
            mine, theirs = name.split("."), other.split(".")
            shared = next(
                (i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None
            )
            if shared is not None:
                drawn[".".join(mine[:shared])][mine[shared]].add(theirs[shared])
    return drawn


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return one circle of a graph, [] when there is none."""
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        for other in sorted(graph.get(node, ())):
            if found := visit(other, [*way, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := visit(node, []))), [])


def circles(package: Path) -> list[str]:
    return [
        f"{where or 'slowcat_memory'}: {' -> '.join(found)}"
        for where, graph in sorted(arrows(package).items())
        if (found := circle(graph))
    ]


def crowded(package: Path) -> list[str]:
    folders: dict[Path, int] = defaultdict(int)
    for path in package.rglob("*.py"):
        folders[path.parent] += path.name != "__init__.py"
    return [str(folder) for folder, count in folders.items() if count > MOST_MODULES]


def repeated(package: Path) -> list[str]:
    """List the module names that stand in three folders, jobs named after their domain aside."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in package.rglob("*.py"):
        folder = path.parent.relative_to(package)
        if "language" not in folder.parts:
            rooms[path.stem].add(
                "idle/jobs" if folder.parts[:2] == ("idle", "jobs") else str(folder)
            )
    return sorted(
        name
        for name, found in rooms.items()
        if name not in SHARED_NAMES and len(found - {"idle/jobs"}) > 2
    )


def test_layout_circles_none_inside_any_package() -> None:
    assert circles(PACKAGE) == []


def test_layout_crowded_no_folder_has_more_than_seventeen_modules() -> None:
    assert crowded(PACKAGE) == []


def test_layout_repeated_no_module_name_stands_in_three_folders() -> None:
    assert repeated(PACKAGE) == []


def test_layout_empty_no_module_is_a_placeholder() -> None:
    assert [
        str(path) for path in PACKAGE.rglob("*.py") if not path.read_text("utf-8").strip()
    ] == []


@pytest.mark.parametrize(
    ("file", "text", "check"),
    [
        ("core/text/b.py", "from slowcat_memory.core.time import c\n", circles),
        ("store/forget_.py", "x = 1\n", None),
    ],
)
def test_layout_laws_catch_a_planted_fault(
    tmp_path: Path, file: str, text: str, check: object
) -> None:
    for folder in ("core/text", "core/time", "store", "index", "idle"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "same.py").write_text("y = 1\n")
    (tmp_path / "core/time/c.py").write_text("from slowcat_memory.core.text import same\n")
    for number in range(MOST_MODULES + 1):
        (tmp_path / "index" / f"m{number}.py").write_text("")
    (tmp_path / file).write_text(text)
    if check is circles:
        assert circles(tmp_path) == ["core: text -> time -> text"]
    assert crowded(tmp_path) == [str(tmp_path / "index")]
    assert repeated(tmp_path) == ["same"]


def test_layout_contributing_by_example_names_files_that_exist() -> None:
    root = PACKAGE.parent
    text = (root / "docs/contributing-by-example.md").read_text("utf-8")
    named = re.findall(r"`((?:slowcat_memory|tests|docs|benchmarks)/[\w./-]+)`", text)
    assert len(re.findall(r"^\| (?!you want|-)", text, re.M)) >= 12
    assert [path for path in named if not (root / path).exists()] == []
