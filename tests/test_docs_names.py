"""What the docs name exists: files, modules, options, commands and their flags."""

import re
from importlib.util import find_spec
from pathlib import Path

import msgspec
from typer.main import get_command

from slowcat_memory.cli.app import app
from slowcat_memory.config import KNOBS, load
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent
# Pages of what is; the changelog and decisions also name what is gone.
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
PAGES += [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("slowcat_memory", "benchmarks", "tests", "examples", "docs_site")
FILE = re.compile(r"`([\w/.]+\.(?:py|toml|c|h|npz|tsv))`")
OPTION = re.compile(r"`(?:\[([a-z_]+)\] )?([a-z_]+(?:\.[a-z_]+)*)(?: = [^`]*)?`")
NOT_OURS = {"PACKAGE/FILE.py", "PACKAGE/test_FILE.py", "context.messages"}

GLOBAL = r"--(?:path|config|user) \S+ "  # options that stand before a command

COMMAND = get_command(app)
CONTEXT = COMMAND.make_context("slowcat-memory", ["--help"], resilient_parsing=True)


def unknown_files(text: str) -> list[str]:
    """Return the files of a text that are nowhere; a path may leave out the first folders."""
    there = [f"/{file.relative_to(ROOT)}" for file in ROOT.iterdir() if file.is_file()]
    for folder in FOLDERS:
        there += [f"/{file.relative_to(ROOT)}" for file in (ROOT / folder).rglob("*.*")]
    named = set(FILE.findall(text)) - NOT_OURS
    return sorted(name for name in named if not any(file.endswith(f"/{name}") for file in there))


def unknown_modules(text: str) -> list[str]:
    return [name for name in set(re.findall(r"python -m ([\w.]+\w)", text)) if not find_spec(name)]


def options() -> set[str]:
    """Return every option by its place in code and by its name in config.toml."""
    found, left = {knob.path for knob in KNOBS}, [("", load(None, {"SLOWCAT_CONFIG": ""}))]
    while left:
        above, one = left.pop()
        for field in msgspec.structs.fields(one):
            value, path = getattr(one, field.name), f"{above}{field.name}"
            found.add(path)
            if isinstance(value, msgspec.Struct):
                left.append((f"{path}.", value))
    return found


def unknown_options(text: str) -> list[str]:
    """Return names that look like options of one of our sections and are none."""
    known = options()
    sections = {path.partition(".")[0] for path in known}
    named = {f"{section}.{key}" if section else key for section, key in OPTION.findall(text)}
    return sorted(
        name
        for name in named - known - NOT_OURS
        if "." in name and name.partition(".")[0] in sections and not FILE.match(f"`{name}`")
    )


def unknown_flags(text: str) -> list[str]:
    """Return commands and flags of ``slowcat-memory`` that there are not."""
    wrong = []
    for line in re.findall(rf"slowcat-memory (?:{GLOBAL})*([a-z][^`\n#&|]*)", text):
        names, have = line.split(), set[str]()
        if names[0] not in COMMAND.list_commands(CONTEXT):
            wrong.append(names[0])
            continue
        command, at = COMMAND.resolve_command(CONTEXT, names[:1])[1], 1
        while command:
            have |= {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
            below = getattr(command, "get_command", None)
            command = below(CONTEXT, names[at]) if below and at < len(names) else None
            at += 1
        flags = set(re.findall(r"(?<!\S)--[a-z-]+", line))
        wrong += [f"{names[0]} {flag}" for flag in sorted(flags - have)]
    return wrong


@each_row("page", PAGES)
def test_docs_what_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert unknown_files(text) == []
    assert unknown_modules(text) == []
    assert unknown_options(text) == []
    assert unknown_flags(text) == []


@each_row(
    ("find", "text", "found"),
    [
        (unknown_files, "see `nearest.py` and `recall/service.py`", ["nearest.py"]),
        (unknown_modules, "`python -m benchmarks.fast`", ["benchmarks.fast"]),
        (unknown_options, "`recall.speed`, `recall.floor`", ["recall.speed"]),
        (unknown_options, "`[recall] haste = 3`, `[recall] prefetch = false`", ["recall.haste"]),
        (unknown_flags, "`slowcat-memory search TEXT --fast --json`", ["search --fast"]),
        (unknown_flags, "`slowcat-memory accelerate`", ["accelerate"]),
        (unknown_flags, "`slowcat-memory --path X search a --fast`", ["search --fast"]),
        (unknown_flags, "`slowcat-memory demo --quick`", ["demo --quick"]),
    ],
)
def test_docs_what_does_not_exist_is_caught(find, text: str, found: list[str]) -> None:
    assert find(text) == found
