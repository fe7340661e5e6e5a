"""The docs agree with the code: what they name exists, and their code, outputs and site are right."""

import ast
import functools
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from docs_site import command_page, outputs
from docs_site.check import loaded
from docs_site.links import linked, outside_pages
from slowcat_memory.cli.app import app
from slowcat_memory.cli.config_file import render_config
from slowcat_memory.config import knobs
from slowcat_memory.config.loader import build, load
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.processor import HybridContextualMemoryProcessor as Processor
from slowcat_memory.processor.keywords import Overrides
from tests.support.rows import cases, each_listed, each_row, listed

ROOT = Path(__file__).parent.parent


COMMAND = get_command(app)


CONTEXT = COMMAND.make_context("slowcat-memory", ["--help"], resilient_parsing=True)


COMMANDS = {name: COMMAND.get_command(CONTEXT, name) for name in COMMAND.list_commands(CONTEXT)}


def test_docs_config_toml_is_what_the_code_renders():
    assert (ROOT / "config.toml").read_text() == render_config(), "run `make docs`"


def test_docs_config_toml_loads_and_changes_nothing():
    assert load(ROOT / "config.toml", {}) == load(None, {"SLOWCAT_CONFIG": ""})


def test_docs_the_page_of_commands_is_what_the_program_says():
    assert (ROOT / "docs/command-line.md").read_text("utf-8") == command_page.page(), (
        "run `make docs`"
    )


def test_docs_the_page_of_commands_lists_every_command_in_the_order_of_the_help():
    listed = re.findall(r"^\| \[`([a-z-]+)`\]", command_page.page(), re.M)
    help_ = CliRunner().invoke(app, ["--help"]).output
    assert listed == re.findall(r"^│ ([a-z][a-z-]*)  +[A-Z]", help_, re.M)
    assert set(listed) == set(COMMANDS)


def test_docs_the_page_on_thinking_lists_every_job_and_what_it_does_without_an_llm():
    table = re.search(r"^\| job \|.*?\n\n", (ROOT / "docs/idle-work.md").read_text(), re.M | re.S)
    rows = [line.split("|") for line in table[0].splitlines()[2:] if line]
    alone = {name: row[3].strip() for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert set(alone) == {job.name for job in BUILT_IN}
    assert {name for name, does in alone.items() if does == "nothing"} == {
        job.name for job in BUILT_IN if job.needs == "llm"
    }


def test_docs_the_glossary_is_in_order_and_has_each_word_once():
    page = (ROOT / "docs/glossary.md").read_text()
    words = re.findall(r"^\| (\*\*.*?) \|", page, re.M)
    plain = [re.sub(r"[*,.]", "", word).lower() for word in words]
    assert plain == sorted(set(plain))


@each_row("name", sorted(COMMANDS.keys() - {"config"}))
def test_docs_every_command_has_help_with_an_example(name):
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    assert f"slowcat-memory {name}" in re.sub(r"\s+", " ", shown.output.partition("Usage:")[2][60:])


PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


PAGES += [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))]


@each_row("page", PAGES)
def test_docs_links_lead_somewhere(page):
    file = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", file.read_text()):
        assert (file.parent / target).exists(), target


def test_docs_every_decision_is_listed_by_its_title():
    folder = ROOT / "docs/decisions"
    pages = sorted(folder.glob("0*.md"))
    titles = [page.read_text().partition("\n")[0].removeprefix("# ") for page in pages]
    listed = re.findall(r"^- \[(.*)\]\((.*)\)$", (folder / "README.md").read_text(), re.M)
    assert listed == [(title, page.name) for title, page in zip(titles, pages, strict=True)]
    numbers = [int(title.partition(".")[0]) for title in titles]
    index = (folder / "README.md").read_text().partition("Withdrawn")[2]
    withdrawn = [int(number) for number in re.findall(r"^- (\d+) \(", index, re.M)]
    assert numbers == [int(page.name[:4]) for page in pages]
    assert sorted(numbers + withdrawn) == [*range(1, len(numbers + withdrawn) + 1)]


def test_docs_every_thread_is_named_and_no_other():
    sources = (file.read_text() for file in (ROOT / "slowcat_memory").rglob("*.py"))
    names = {name for source in sources for name in re.findall(r'"(slowcat-[a-z-]*[a-z])"', source)}
    started = names - {"slowcat-memory"}
    assert {"slowcat-recall", "slowcat-idle", "slowcat-store"} <= started
    table = (ROOT / "docs/threads-and-files.md").read_text()
    assert started == set(re.findall(r"^\| `(slowcat-[\w-]+)` \|", table, re.M))


def test_docs_architecture_names_every_room_and_door():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for entry in (ROOT / "slowcat_memory").iterdir():
        if entry.is_dir() and (entry / "__init__.py").exists():
            assert f"`{entry.name}/`" in text, entry.name
        elif entry.suffix == ".py" and entry.stem != "__init__":
            assert f"`{entry.name}`" in text, entry.name


def test_docs_every_row_of_the_requirements_has_an_outcome_and_its_tests_exist():
    text = (ROOT / "docs/requirement-rows.md").read_text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].strip() != "row"]
    assert len(rows) == 84
    assert {row[1].strip() for row in rows} <= {"done", "in part", "not done"}
    assert all(len(row) == 3 and row[2].strip() for row in rows)
    tests = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text))
    assert tests
    for name, function in sorted(tests):
        assert (ROOT / name).exists(), name
        assert not function or f"def {function}(" in (ROOT / name).read_text(), function


def test_docs_no_path_of_a_machine_in_the_tree():
    pattern = re.compile(r"/(?:work|root|Users)/[a-z]")
    for file in ROOT.rglob("*"):
        skipped = {".git", ".venv", ".venv-oldest", "__pycache__"} & set(file.parts)
        if not skipped and file.suffix in {".py", ".md", ".toml"} and file != Path(__file__):
            assert not pattern.search(file.read_text(errors="replace")), file


# Pages of what is; the changelog and decisions also name what is gone.
PAGES_OF_NOW = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "examples/README.md"]


PAGES_OF_NOW += [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]


FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.M | re.S)


# What a name in an example stands for.
STANDS_FOR = {"memory": Processor, "engine": MemoryEngine}


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


def unknown_names(text: str) -> list[str]:
    """Return what the blocks of Python use of this package and is not there."""
    trees = (ast.parse(code) for code in blocks(text, "python"))
    return sorted(name for tree in trees for node in ast.walk(tree) for name in _unknown(node))


def _unknown(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slowcat_memory"):
        module = importlib.import_module(node.module or "")
        yield from (one.name for one in node.names if not hasattr(module, one.name))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == Processor.__name__:
            known = {*inspect.signature(Processor).parameters, *Overrides.__annotations__}
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


def test_docs_code_a_setting_that_does_not_exist_is_caught():
    (wrong,) = wrong_settings(
        "```toml\n[recall]\nhaste = 3\n```\n```toml\n[recall]\nmemories = 3\n```\n"
    )
    assert "recall.haste" in wrong


FOLDERS = ("slowcat_memory", "benchmarks", "tests", "examples", "docs_site")


FILE = re.compile(r"`([\w/.]+\.(?:py|toml|c|h|npz|tsv))`")


OPTION = re.compile(r"`(?:\[([a-z_]+)\] )?([a-z_]+(?:\.[a-z_]+)*)(?: = [^`]*)?`")


NOT_OURS = {"PACKAGE/FILE.py", "PACKAGE/test_FILE.py", "context.messages"}


GLOBAL = r"--(?:path|config|user) \S+ "  # options that stand before a command


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
    """Return every option and section by its place in code, and by its name in config.toml."""
    found = {*knobs.KNOBS} | {"idle.jobs"}
    for target, *_ in knobs.options():
        found |= {target.rsplit(".", n)[0] for n in range(target.count(".") + 1)}
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


CHECKS = (
    *(unknown_names, wrong_settings, missing_targets, unknown_extras, unknown_variables),
    *(unknown_events, unknown_files, unknown_modules, unknown_options, unknown_flags),
)


@each_row("page", PAGES_OF_NOW)
def test_docs_what_a_page_names_exists(page):
    text = (ROOT / page).read_text("utf-8")
    assert [wrong for check in CHECKS for wrong in check(text)] == []


@each_row(("find", "text", "wrong"), listed("doc_faults"))
def test_docs_what_does_not_exist_is_caught(find, text, wrong):
    page = f"```python\n{text}\n```" if find == "unknown_names" else text
    assert globals()[find](page) == [wrong]


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    done = CliRunner().invoke(app, list(arguments), env=dict(environment))
    assert done.exit_code == 0, done.output
    return done.stdout


def in_words(text: str) -> list[str]:
    """Return a text's lines without figures, rules and spaces, which a machine may change."""
    lines = (re.sub(r"[\d.,]+|[─-╿]|\s+", " ", line).split() for line in text.splitlines())
    return [" ".join(line) for line in lines if line]


def test_readme_shows_what_the_commands_print(tmp_path):
    block = re.search(
        r"<!-- begin output -->\n(.*?)\n<!-- end output -->", outputs.README.read_text(), re.S
    )
    printed = outputs.shown(tmp_path / "store", run)
    assert block and in_words(block[1]) == in_words(printed), "run `make docs`"
    assert "Max" in printed and "Lisbon" in printed and "walnuts" in printed


NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]


def test_site_the_menu_has_every_page():
    own = {page.name for page in (ROOT / "docs").glob("*.md")}
    outside = {page for page in outside_pages() if "/" not in page}
    assert set(re.findall(r": ([\w-]+\.md)$", NAV, re.M)) == own | outside


@each_listed("docs_site")
def test_site_links_lead_to_pages_of_the_site(source, link, becomes):
    assert linked(f"[x]({link})", source) == f"[x]({becomes})"


@cases("docs_site")
def test_site_what_a_page_loads_from_afar_is_found(tmp_path, page, found):
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "picture.svg").write_text('<svg><image href="https://cdn.example/c.png"/></svg>')
    (tmp_path / "style.css").write_text("@import url(https://cdn.example/b.css); p {color: red}")
    assert list(loaded(tmp_path)) == [
        *([f"index.html: loads {found}"] if found else []),
        "picture.svg: loads https://cdn.example/c.png",
        "style.css: loads https://cdn.example/b.css",
    ]
