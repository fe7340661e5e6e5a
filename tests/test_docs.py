"""The docs agree with the code."""

import re
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from docs_site import command_page
from slowcat_memory.cli.app import app
from slowcat_memory.cli.config_file import render_config
from slowcat_memory.config import load
from slowcat_memory.idle.registry import BUILT_IN
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMAND = get_command(app)
CONTEXT = COMMAND.make_context("slowcat-memory", ["--help"], resilient_parsing=True)
COMMANDS = {name: COMMAND.get_command(CONTEXT, name) for name in COMMAND.list_commands(CONTEXT)}


def test_docs_config_toml_is_what_the_code_renders() -> None:
    assert (ROOT / "config.toml").read_text() == render_config(), "run `make docs`"


def test_docs_config_toml_loads_and_changes_nothing() -> None:
    assert load(ROOT / "config.toml", {}) == load(None, {"SLOWCAT_CONFIG": ""})


def test_docs_the_page_of_commands_is_what_the_program_says() -> None:
    assert (ROOT / "docs/command-line.md").read_text("utf-8") == command_page.page(), (
        "run `make docs`"
    )


def test_docs_the_page_of_commands_lists_every_command_in_the_order_of_the_help() -> None:
    listed = re.findall(r"^\| \[`([a-z-]+)`\]", command_page.page(), re.M)
    help_ = CliRunner().invoke(app, ["--help"]).output
    assert listed == re.findall(r"^│ ([a-z][a-z-]*)  +[A-Z]", help_, re.M)
    assert set(listed) == set(COMMANDS)


def test_docs_the_page_on_thinking_lists_every_job_and_what_it_does_without_an_llm() -> None:
    table = re.search(r"^\| job \|.*?\n\n", (ROOT / "docs/idle-work.md").read_text(), re.M | re.S)
    assert table
    rows = [line.split("|") for line in table[0].splitlines()[2:] if line]
    alone = {name: row[3].strip() for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert set(alone) == {job.name for job in BUILT_IN}
    assert {name for name, does in alone.items() if does == "nothing"} == {
        job.name for job in BUILT_IN if job.needs == "llm"
    }


def test_docs_the_glossary_is_in_order_and_has_each_word_once() -> None:
    page = (ROOT / "docs/glossary.md").read_text()
    words = re.findall(r"^\| (\*\*.*?) \|", page, re.M)
    plain = [re.sub(r"[*,.]", "", word).lower() for word in words]
    assert plain == sorted(set(plain))


@each_row("name", sorted(COMMANDS.keys() - {"config"}))
def test_docs_every_command_has_help_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    assert f"slowcat-memory {name}" in re.sub(r"\s+", " ", shown.output.partition("Usage:")[2][60:])


def test_docs_the_readme_names_the_two_commands() -> None:
    assert "make demo" in README and "make test" in README
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for target in re.findall(r"`?make ([a-z-]+)", README + (ROOT / "CONTRIBUTING.md").read_text()):
        assert target in targets, target


PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
PAGES += [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))]


@each_row("page", PAGES)
def test_docs_links_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", file.read_text()):
        assert (file.parent / target).exists(), target


def test_docs_every_decision_is_listed_by_its_title() -> None:
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


def test_docs_architecture_names_every_thread_and_no_other() -> None:
    sources = (file.read_text() for file in (ROOT / "slowcat_memory").rglob("*.py"))
    names = {name for source in sources for name in re.findall(r'"(slowcat-[a-z-]*[a-z])"', source)}
    started = names - {"slowcat-memory"}
    assert {"slowcat-recall", "slowcat-idle", "slowcat-store"} <= started
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Threads and processes")[2]
    assert started == set(re.findall(r"^\| `(slowcat-[\w-]+)` \|", table, re.M))


def test_docs_architecture_names_every_room_and_door() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for entry in (ROOT / "slowcat_memory").iterdir():
        if entry.is_dir() and (entry / "__init__.py").exists():
            assert f"`{entry.name}/`" in text, entry.name
        elif entry.suffix == ".py" and entry.stem != "__init__":
            assert f"`{entry.name}`" in text, entry.name


def test_docs_every_row_of_the_requirements_has_an_outcome_and_its_tests_exist() -> None:
    text = (ROOT / "docs/requirement-rows.md").read_text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].strip() != "row"]
    assert len(rows) == 65
    assert {row[1].strip() for row in rows} <= {"done", "in part", "not done"}
    assert all(len(row) == 3 and row[2].strip() for row in rows)
    tests = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text))
    assert tests
    for name, function in sorted(tests):
        assert (ROOT / name).exists(), name
        assert not function or f"def {function}(" in (ROOT / name).read_text(), function


def test_docs_no_path_of_a_machine_in_the_tree() -> None:
    pattern = re.compile(r"/(?:work|root|Users)/[a-z]")
    for file in ROOT.rglob("*"):
        skipped = {".git", ".venv", ".venv-oldest", "__pycache__"} & set(file.parts)
        if not skipped and file.suffix in {".py", ".md", ".toml"} and file != Path(__file__):
            assert not pattern.search(file.read_text(errors="replace")), file
