"""What the sources of our package, and of an installed module, contain."""

import ast
import importlib.util
from functools import cache
from pathlib import Path

import slowcat_memory

PACKAGE = Path(slowcat_memory.__file__).parent


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def package_files(having: str = "") -> tuple[tuple[str, ast.Module], ...]:
    """Return our package's files by name, those with a certain word alone."""
    sources = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return tuple(
        (path.relative_to(PACKAGE).as_posix(), ast.parse(source))
        for path, source in sources.items()
        if having in source
    )


def source_of(module: str) -> Path:
    """Find a module's file without importing it: its extras may not be installed."""
    package, *rest = module.split(".")
    root = importlib.util.find_spec(package)
    assert root and root.submodule_search_locations
    path = Path(root.submodule_search_locations[0], *rest)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def members(cls: str, path: Path) -> set[str]:
    """The members and constructor arguments of a class, its bases in the same file included."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for item in node.body:
                if isinstance(item, ast.Assign):
                    found |= {t.id for t in item.targets if isinstance(t, ast.Name)}
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    found.add(item.target.id)
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    found |= {arg.arg for arg in item.args.kwonlyargs + item.args.args}
    return found
