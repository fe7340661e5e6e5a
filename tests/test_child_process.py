"""A module that lies in the working directory never runs: not in a child, nor in a command."""

import ast
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from slowcat_memory.child_process import import_path, python_command
from tests.support.other_process import python
from tests.support.rows import listed_texts
from tests.support.sources import PACKAGE, package_files

PLANTED = (
    *("msgspec", "numpy", "lmdb", "faiss", "loguru", "rich", "typer", "torch", "zstandard"),
    *("json", "typing", "pathlib", "dataclasses", "hashlib", "struct", "tempfile", "asyncio"),
    *("sitecustomize", "usercustomize", "opentelemetry", "IPython", "config", "records"),
)
STARTS = {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
SHELLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with modules that leave a trace when they run."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(folder / name)!r} + '.ran', 'w').close()\n")
    monkeypatch.chdir(folder)
    return folder


def ran(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.ran"))


@cache
def children() -> list[str]:
    """List the modules that are programs of their own, commands left out."""
    programs = []
    for name, tree in package_files("__main__"):
        guards = [ast.unparse(node.test) for node in tree.body if isinstance(node, ast.If)]
        if "__name__ == '__main__'" in guards and not name.startswith("cli/"):
            programs.append("slowcat_memory." + name.removesuffix(".py").replace("/", "."))
    return programs


def bypasses(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield the calls that start a process without ``python_command``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
            if any(one.partition(".")[0] in ("multiprocessing", "pty") for one in names):
                yield f"{name}:{node.lineno} imports {ast.unparse(node)}"
            if getattr(node, "module", "") == "subprocess" and names & STARTS:
                yield f"{name}:{node.lineno} imports {ast.unparse(node)}"
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, called = ast.unparse(node.func.value), node.func.attr
        starts = owner == "subprocess" and called in STARTS
        if owner == "os" and (called in SHELLS or called.startswith(("exec", "spawn"))):
            yield f"{name}:{node.lineno} calls os.{called}"
        if starts or called.startswith("create_subprocess"):
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            command = ast.unparse(node.args[0]) if node.args else ""
            if not command.startswith("python_command("):
                yield f"{name}:{node.lineno} calls {called} without python_command"
            elif not given.get("env", "").startswith("child_environment("):
                yield f"{name}:{node.lineno} calls {called} without child_environment"


# ------------------------------------------------------------------- children


@pytest.mark.parametrize("module", children())
def test_children_import_nothing_from_the_working_directory(planted, module):
    done = python(*python_command(module)[1:], PYTHONPATH=f":{PACKAGE.parent}:.")
    assert ran(planted) == []
    assert "ModuleNotFoundError" not in done.stderr and "ImportError" not in done.stderr


PARENT = """
import subprocess, sys
sys.path.insert(0, {place!r})
import slowcat_memory
from slowcat_memory.child_process import python_command
assert slowcat_memory.__file__.startswith({place!r}), slowcat_memory.__file__
subprocess.run(python_command("slowcat_memory", "--version"), check=True)
"""


@pytest.mark.parametrize("how", ["folder", "zip"])
def test_children_find_the_package_where_only_the_parent_looks(planted, how):
    place = planted.parent / ("package.zip" if how == "zip" else "site")
    if how == "zip":
        shutil.make_archive(str(place.with_suffix("")), "zip", PACKAGE.parent, "slowcat_memory")
    else:
        shutil.copytree(PACKAGE, place / "slowcat_memory")
    done = python("-P", "-c", PARENT.format(place=str(place)))
    assert done.stdout.startswith("slowcat-memory "), done.stderr
    assert ran(planted) == []


def test_children_of_a_program_without_an_interpreter_are_refused(monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(OSError, match="no Python interpreter"):
        python_command("slowcat_memory")


def test_children_are_started_by_python_command_alone():
    assert [found for name, tree in package_files() for found in bypasses(name, tree)] == []


@pytest.mark.parametrize("line", listed_texts("other_starts"))
def test_children_started_otherwise_are_caught(line):
    assert len(list(bypasses("planted.py", ast.parse(line)))) == 1


# ------------------------------------------------------------------- the command line


@pytest.mark.parametrize("arguments", ["facts", "config show"])
def test_commands_import_nothing_from_the_working_directory(planted, arguments):
    store = ("--path", str(planted.parent / "store"))
    done = python("-m", "slowcat_memory", *store, *arguments.split())
    assert ran(planted) == []
    assert "Traceback" not in done.stderr


def test_commands_search_a_package_installed_in_place_behind_all_others(tmp_path, monkeypatch):
    here = str(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", here, *sys.path, here])
    assert import_path().count(here) == 1
    assert import_path().index(here) > import_path().index(os.path.dirname(os.__file__))
