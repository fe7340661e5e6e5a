"""The examples compile, import only what exists, and run."""

import ast
import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from slowcat_memory.testing.server import ScriptedServer
from tests.support.other_process import python
from tests.support.rows import cases
from tests.support.sources import members, source_of, tree

PATIENCE_S = 240.0  # for a bot in a process of its own, beside busy ones
FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
BOTS = [path for path in EXAMPLES if path.stem in ("minimal_bot", "local_voice_bot")]


def imported(path: Path, package: str) -> list[tuple[str, str]]:
    """(module, name) of every `from package... import name`, commented-out ones included."""
    code = path.read_text(encoding="utf-8")
    lines = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# from ")]
    trees = [tree(path), *map(ast.parse, lines)]
    nodes = [n for t in trees for n in ast.walk(t) if isinstance(n, ast.ImportFrom)]
    return [
        (n.module, a.name) for n in nodes if (n.module or "").startswith(package) for a in n.names
    ]


def names_in(path: Path) -> set[str]:
    """What a module defines, or imports for others."""
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def test_examples_there_are_examples_and_the_readme_lists_them():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    bots = {"minimal_bot", "local_voice_bot", "two_people", "german_bot"}
    assert {path.stem for path in EXAMPLES} == bots | {"custom_job", "fleet_demo"}
    assert all(f"({path.name})" in readme for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_an_example_compiles_and_says_how_to_run_it(path):
    code = path.read_text(encoding="utf-8")
    compile(code, str(path), "exec")
    how = ast.get_docstring(tree(path)) or ""
    assert "pip install" in how and f"python examples/{path.name}" in how
    assert "SPDX-License-Identifier: BSD-2-Clause" in code


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_examples_what_an_example_imports_from_pipecat_is_there(path):
    found = imported(path, "pipecat")
    assert len(found) > 5
    for module, name in found:
        source = source_of(module)
        assert source.is_file(), f"{path.name}: there is no module {module}"
        assert name in names_in(source), f"{path.name}: {module} has no {name}"


@cases("services.jsonl", "")
def test_examples_services_whose_extras_are_absent_take_what_they_are_given(module, cls, used):
    assert set(used) <= members(cls, source_of(module))


async def start(url: str, store: Path, example: str) -> asyncio.subprocess.Process:
    """Start a typed bot in a process of its own."""
    settings = {
        "LLM_URL": url,
        "SLOWCAT_MEMORY__PATH": str(store),
        "SLOWCAT_EMBEDDING__KIND": "none",
        "SLOWCAT_RECALL__DEADLINE_MS": "5000",
        "PYTHONPATH": str(FOLDER.parent),
    }
    pipe = asyncio.subprocess.PIPE
    command, env = (sys.executable, str(FOLDER / example)), os.environ | settings
    return await asyncio.create_subprocess_exec(
        *command, env=env, stdin=pipe, stdout=pipe, stderr=pipe
    )


async def talk(url: str, store: Path, *lines: str, example: str = "minimal_bot.py") -> str:
    """Run a typed bot with lines on its standard input."""
    bot = await start(url, store, example)
    typed = "".join(f"{line}\n" for line in lines).encode()
    out, err = await asyncio.wait_for(bot.communicate(typed), PATIENCE_S)
    assert bot.returncode == 0, err.decode()
    return out.decode()


async def talk_until_ctrl_c(url: str, store: Path, *lines: str) -> list[str]:
    """Run the minimal bot; press Ctrl-C while it waits for the next line."""
    bot = await start(url, store, "minimal_bot.py")
    bot.stdin.write("".join(f"{line}\n" for line in lines).encode())
    async with asyncio.timeout(PATIENCE_S):
        out = [(await bot.stdout.readline()).decode().strip() for line in lines if line]
        bot.send_signal(signal.SIGINT)
        code, err = await bot.wait(), (await bot.stderr.read()).decode()
    assert code == 0 and "Traceback" not in err and "Fatal" not in err, err
    return out


async def test_examples_the_minimal_bot_ends_on_ctrl_c_and_remembers_in_another_process(tmp_path):
    async with ScriptedServer() as server:
        lines = ("My dog is called Max.", "", "Bye.")
        first = await talk_until_ctrl_c(server.url, tmp_path / "store", *lines)
        second = await talk(server.url, tmp_path / "store", "What is my dog called?")
        systems = [request["messages"][0]["content"] for request in server.requests]
    assert first == ["I am listening.", "I am listening."]
    assert "“My dog is called Max.”" in second
    assert "talked once before" in systems[-1] and "talked" not in systems[0]


async def test_examples_of_two_people_each_is_answered_from_their_own_memory(tmp_path):
    async with ScriptedServer() as server:
        store, example = tmp_path / "store", "two_people.py"
        said = ("anna: My dog is called Max.", "ben: My dog is called Rex.")
        await talk(server.url, store, *said, example=example)
        asked = ("ben: What is my dog called?", "guest: What is my dog called?")
        answers = await talk(server.url, store, *asked, example=example)
    of_ben, of_guest = answers.splitlines()
    assert "Rex" in of_ben and "Max" not in of_ben
    assert "Rex" not in of_guest and "Max" not in of_guest


async def test_examples_the_german_bot_obeys_a_german_command(tmp_path):
    async with ScriptedServer() as server:
        said = "Merk dir, dass der Schlüssel unter dem Topf liegt."
        out = await talk(server.url, tmp_path / "store", said, example="german_bot.py")
        requests = server.requests
    assert "Schlüssel" in out or "merke" in out.casefold()
    assert not any(request["stream"] for request in requests), "the memory answers by itself"


def test_examples_the_custom_job_thinks():
    done = python(str(FOLDER / "custom_job.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Anna loves old bicycles.", "Anna loves the sea."]


def test_examples_the_voice_bot_of_the_page_is_made_as_it_is_written(tmp_path, monkeypatch):
    """All that is Pipecat's and ours is real; the libraries beneath it are stand-ins."""
    page = (FOLDER.parent / "docs" / "voice-bot.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for name in ("faster_whisper", "piper", "piper.download_voices", "pyaudio"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    sys.modules["faster_whisper"].WhisperModel.return_value.supported_languages = ["en"]
    monkeypatch.setenv("HOME", str(tmp_path))
    made: dict[str, Any] = {"__name__": "voice_bot"}
    exec(compile(code, "voice-bot.md", "exec"), made)
    with (
        patch.object(made["WorkerRunner"], "add_workers") as added,
        patch.object(made["WorkerRunner"], "run") as run,
    ):
        asyncio.run(made["main"]())
    assert isinstance(added.call_args.args[0], made["PipelineWorker"])
    run.assert_awaited_once()
