"""Counts the code of the project, for the budget in ``budget.toml``.

A line of code is a line with a token on it that is no comment and no docstring; TOML, SQL,
JavaScript, CSS, HTML and C count alike, without blank lines and comments. Tokens are Python's own
(``tokenize``), so that packing lines gains nothing; data files count by bytes, so that moving code
into them gains nothing. Lists in the ``data`` folders of tests and benchmarks are not counted.

    python -m tests.support.budget          print the numbers beside the budget
    python -m tests.support.budget --lower  lower the budget to them
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.support.layout import edges, modules, type_edges

ROOT = Path(__file__).parent.parent.parent
BUDGET = ROOT / "budget.toml"
PACKAGE = "slowcat_memory"
SMALL = 120
LISTS = ("small_files", "repeated_classes", "type_circles")

_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING,
}  # fmt: skip
_CODE = {
    ".toml": r"#[^\n]*",
    ".sql": r"--[^\n]*|/\*.*?\*/",
    ".html": r"<!--.*?-->",
    ".css": r"/\*.*?\*/",
    **dict.fromkeys((".js", ".mjs", ".c", ".h"), r"^\s*//[^\n]*|/\*.*?\*/"),
}
_NO_DATA = {".md", ".png", ".svg", ".json", ".lock", ".typed", ""}


class Count(Struct):
    """Lines of code in all languages, those of them in Python, and Python's tokens."""

    lines: int = 0
    python: int = 0
    tokens: int = 0


def files(root: Path) -> list[Path]:
    """Return the files that git tracks or would; every file where there is no git."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        named = [root / name for name in listed.stdout.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        named = [path for path in root.rglob("*") if ".venv" not in path.parts]
    return sorted(path for path in named if path.is_file() and "vendor" not in path.parts)


def count(path: Path) -> Count:
    """Count one file; a file that is no code counts nothing."""
    if path.suffix == ".py":
        return _python(path.read_text("utf-8"))
    if path.suffix in _CODE:
        text = re.sub(_CODE[path.suffix], "", path.read_text("utf-8"), flags=re.S | re.M)
        return Count(lines=sum(bool(line.strip()) for line in text.splitlines()))
    return Count()


def _python(source: str) -> Count:
    docstrings = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines, tokens = set[int](), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT and token.start[0] not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
            tokens += 1
    return Count(len(lines), len(lines), tokens)


def part_of(path: Path, root: Path) -> str:
    """Name the part of the budget that a file belongs to, "" for none."""
    parts = path.relative_to(root).parts
    if parts[0] != PACKAGE and "data" in parts and path.suffix != ".py":
        return ""
    if len(parts) == 1:
        return "root" if path.suffix in (".py", ".toml") and path.name != BUDGET.name else ""
    if parts[0] == PACKAGE:
        return parts[1] if len(parts) > 2 else PACKAGE
    return parts[0]


def parts(root: Path) -> dict[str, Count]:
    """Count every part, and ``whole``: the package."""
    made: dict[str, Count] = defaultdict(Count)
    for path in files(root):
        part, found = part_of(path, root), count(path)
        inside = path.relative_to(root).parts[0] == PACKAGE
        for name in (part, *(["whole"] if inside else [])):
            if name and found.lines:
                total = made[name]
                total.lines += found.lines
                total.python += found.python
                total.tokens += found.tokens
    return dict(sorted(made.items()))


def data(root: Path) -> dict[str, int]:
    """Return the bytes of each data file of the package."""
    return {
        path.relative_to(root).as_posix(): path.stat().st_size
        for path in files(root)
        if path.is_relative_to(root / PACKAGE)
        and (path.suffix == ".toml" or path.suffix not in {".py", *_CODE, *_NO_DATA})
    }


def small_files(package: Path) -> list[str]:
    """Return the files of less than ``SMALL`` lines of code that one other file imports."""
    importers = Counter(target for _, target in edges(package))
    return sorted(
        name
        for name, path in modules(package).items()
        if importers[name] == 1 and path.stem != "__init__" and count(path).lines < SMALL
    )


def repeated_classes(package: Path) -> list[str]:
    """Return the names of classes that are defined more than once."""
    names = Counter(
        node.name
        for path in modules(package).values()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, times in names.items() if times > 1)


def type_circles(package: Path) -> list[str]:
    """Return the imports behind ``TYPE_CHECKING`` that close a circle."""
    graph: dict[str, set[str]] = defaultdict(set)
    for source, target in edges(package):
        graph[source].add(target)
    return sorted(
        f"{source} -> {target}"
        for source, target in type_edges(package)
        if source in _reached(graph, target)
    )


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def measured(root: Path) -> dict[str, Any]:
    """Measure everything that ``budget.toml`` bounds."""
    return {
        "parts": {
            name: {"lines": found.lines, "python": found.python, "tokens": found.tokens}
            for name, found in parts(root).items()
        },
        "data": data(root),
        "small_files": small_files(root / PACKAGE),
        "repeated_classes": repeated_classes(root / PACKAGE),
        "type_circles": type_circles(root / PACKAGE),
    }


def over(found: dict[str, Any], most: dict[str, Any]) -> list[str]:
    """Say in a line each where a measurement is above a budget, and by how much."""
    said = []
    for part, counted in found["parts"].items():
        allowed = most["parts"].get(part, {})
        said += [
            f"{part}: {value:,} {unit}, {value - allowed.get(unit, 0):,} above the budget"
            for unit, value in counted.items()
            if value > allowed.get(unit, 0)
        ]
    said += [
        f"{name}: {size:,} bytes, {size - most['data'].get(name, 0):,} above the budget"
        for name, size in found["data"].items()
        if size > most["data"].get(name, 0)
    ]
    return said + [
        f"{kind}: {name} is new" for kind in LISTS for name in found[kind] if name not in most[kind]
    ]


def lowered(found: dict[str, Any], most: dict[str, Any]) -> dict[str, Any]:
    """Return a budget in which every number and list is the smaller of two."""
    made: dict[str, Any] = {
        "parts": {
            part: {unit: min(value, found["parts"][part][unit]) for unit, value in units.items()}
            for part, units in most["parts"].items()
            if part in found["parts"]
        },
        "data": {
            name: min(size, found["data"][name])
            for name, size in most["data"].items()
            if name in found["data"]
        },
    }
    return made | {kind: [name for name in most[kind] if name in found[kind]] for kind in LISTS}


HEAD = """\
# The most code that each part may have: lines of code in all languages, those in Python, and
# Python's tokens (tests/support/budget.py counts). "whole" is the package; "root" the files beside
# it. A number may only be lowered, a list may only shrink: tests/test_budget.py, and
# `python -m tests.support.budget --lower` after a change that made something smaller.
"""


def written(budget: dict[str, Any]) -> str:
    """Write a budget as TOML."""
    lines = [HEAD, "[parts]"]
    for part, units in budget["parts"].items():
        inner = ", ".join(f"{unit} = {value}" for unit, value in units.items())
        lines.append(f"{part} = {{ {inner} }}")
    lines += ["", "[data] # bytes", *(f'"{name}" = {n}' for name, n in budget["data"].items()), ""]
    titles = {
        "small_files": f"under {SMALL} lines of code, with one importer",
        "repeated_classes": "defined more than once",
        "type_circles": "imports behind TYPE_CHECKING that close a circle",
    }
    # Keys of a table end at the next header, so the lists stand in one of their own.
    lines.append("[lists]")
    for kind in LISTS:
        lines += [f"# {titles[kind]}", f"{kind} = ["]
        lines += [*(f'    "{name}",' for name in budget[kind]), "]"]
    return "\n".join(lines) + "\n"


def read(text: str) -> dict[str, Any]:
    """Read a budget."""
    found = tomllib.loads(text)
    return {"parts": found["parts"], "data": found["data"], **found["lists"]}


if __name__ == "__main__":
    now = measured(ROOT)
    budget = read(BUDGET.read_text("utf-8")) if BUDGET.exists() else now
    for name, units in now["parts"].items():
        allowed = budget["parts"].get(name, {})
        print(name, *(f"{unit} {n:,} of {allowed.get(unit, 0):,}" for unit, n in units.items()))
    if "--lower" in sys.argv:
        BUDGET.write_text(written(lowered(now, budget)), "utf-8")
    print(*over(now, budget), sep="\n")
