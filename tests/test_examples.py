"""The examples compile, import only what exists, and the minimal one runs."""

import ast
import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import slowcat_memory
from slowcat_memory.testing.server import ScriptedServer
from tests.support.sources import members, source_of, tree
from tests.support.voice_pipeline import run

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
BOTS = [path for path in EXAMPLES if path.stem.endswith("_bot")]


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
    assert {path.name for path in EXAMPLES} == {
        "minimal_bot.py",
        "local_voice_bot.py",
        "custom_job.py",
    }
    assert all(f"({path.name})" in readme for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_an_example_compiles_and_says_how_to_run_it(path):
    code = path.read_text(encoding="utf-8")
    compile(code, str(path), "exec")
    how = ast.get_docstring(tree(path)) or ""
    assert "pip install" in how and f"python examples/{path.name}" in how
    assert "SPDX-License-Identifier: BSD-2-Clause" in code


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_examples_a_bot_outlives_silence_and_begins_with_what_it_knows(path):
    code = path.read_text(encoding="utf-8")
    assert "cancel_on_idle_timeout=False" in code and "await memory.session_context()" in code


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_examples_what_an_example_imports_from_pipecat_is_there(path):
    found = imported(path, "pipecat")
    assert len(found) > 5
    for module, name in found:
        source = source_of(module)
        assert source.is_file(), f"{path.name}: there is no module {module}"
        assert name in names_in(source), f"{path.name}: {module} has no {name}"


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_examples_what_an_example_imports_from_us_is_public(path):
    found = imported(path, "slowcat_memory")
    assert ("slowcat_memory", "HybridContextualMemoryProcessor") in found
    for module, name in found:
        assert module == "slowcat_memory" and name in slowcat_memory.__all__


@pytest.mark.parametrize(
    ("module", "cls", "used"),
    [
        ("pipecat.services.whisper.stt", "WhisperSTTService", {"settings", "Settings"}),
        ("pipecat.services.whisper.stt", "Model", {"DISTIL_MEDIUM_EN"}),
        ("pipecat.services.piper.tts", "PiperTTSService", {"settings", "Settings"}),
        ("pipecat.services.kokoro.tts", "KokoroTTSService", {"settings", "Settings"}),
        ("pipecat.transports.local.audio", "LocalAudioTransport", {"params"}),
    ],
)
def test_examples_services_whose_extras_are_absent_take_what_they_are_given(module, cls, used):
    assert used <= members(cls, source_of(module))


async def talk(url: str, store: Path, *lines: str) -> str:
    """Run the minimal bot in a process of its own, with lines on its standard input."""
    settings = {
        "LLM_URL": url,
        "SLOWCAT_MEMORY__PATH": str(store),
        "SLOWCAT_EMBEDDING__KIND": "none",
        "SLOWCAT_RECALL__DEADLINE_MS": "5000",
        "PYTHONPATH": str(FOLDER.parent),
    }
    bot = await asyncio.create_subprocess_exec(
        sys.executable,
        str(FOLDER / "minimal_bot.py"),
        env=os.environ | settings,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    typed = "".join(f"{line}\n" for line in lines).encode()
    out, err = await asyncio.wait_for(bot.communicate(typed), 30)
    assert bot.returncode == 0, err.decode()
    return out.decode()


def test_examples_the_minimal_bot_remembers_what_it_was_told_in_another_process(tmp_path):
    async def scenario():
        async with ScriptedServer() as server:
            first = await talk(server.url, tmp_path / "store", "My dog is called Max.", "", "Bye.")
            second = await talk(server.url, tmp_path / "store", "What is my dog called?")
            systems = [request["messages"][0]["content"] for request in server.requests]
        assert first.splitlines() == ["I am listening.", "I am listening."]
        assert "“My dog is called Max.”" in second
        assert "talked once before" in systems[-1] and "talked" not in systems[0]

    run(scenario(), timeout_s=60)


def test_examples_the_custom_job_thinks():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "custom_job.py")],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(FOLDER.parent)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Anna loves old bicycles.", "Anna loves the sea."]
