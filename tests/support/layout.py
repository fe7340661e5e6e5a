"""The layout of a package as its imports and file names show it: circles, crowded folders, repeated names."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

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
