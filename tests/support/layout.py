"""The layout of a package as its imports and file names show it: circles, repeated names."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# The same part of another domain: language tables are exempt altogether.
SHARED_NAMES = {"__init__", "options", "prompt", "forget"}


def modules(package: Path) -> dict[str, Path]:
    """Return every module by its dotted name, the package's own name left out."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the modules of the package that a file imports, and whether for types alone."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slowcat_memory"):
            base = (node.module or "").removeprefix("slowcat_memory").strip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}".strip(".")
                yield (full if full in known else base), id(node) in for_types


def edges(package: Path) -> set[tuple[str, str]]:
    """Return every import inside a package as (importer, imported), those for types too."""
    return _edges(package, for_types=(True, False))


def type_edges(package: Path) -> set[tuple[str, str]]:
    """Return the imports inside a package that stand behind ``TYPE_CHECKING``."""
    return _edges(package, for_types=(True,))


def _edges(package: Path, for_types: tuple[bool, ...]) -> set[tuple[str, str]]:
    known = modules(package)
    return {
        (name, other)
        for name, path in known.items()
        for other, typed in imported(path, set(known))
        if typed in for_types and other != name
    }


def arrows(package: Path) -> dict[str, dict[str, set[str]]]:
    """Return for each package the imports among its direct children: package, child, children."""
    drawn: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, other in _edges(package, for_types=(False,)):
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
