"""No benchmark runs beside idle work: every engine that one opens has it off."""

import re
from pathlib import Path

import pytest

import benchmarks
from tests.support.rows import each_row

ROOT = Path(benchmarks.__file__).parent
MAKERS = {"load", "load_config", "build_options", "Config"}
OF_ONE_SECTION = {"peers/__main__.py"}  # reads which model is configured, opens no engine with it

# What idle work costs a recall, and what its rules read.
MEASURE_IT = {"rhythms.py", "real_talk.py"}


IMPORT = re.compile(r"^from slowcat_memory\.config import (?:\((.*?)\)|(.*?)$)", re.M | re.S)
ON = re.compile(r"""\benabled["']?\s*[:=]\s*True""")


def makes_its_own(source: str) -> set[str]:
    """Return what of ``slowcat_memory.config`` a module calls to make a configuration."""
    imported = {name for found in IMPORT.findall(source) for name in re.findall(r"\w+", str(found))}
    return {name for name in imported & MAKERS if re.search(rf"(?<![\w.]){name}\(", source)}


MODULES = sorted({path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")} - {"common.py"})


@each_row("name", MODULES)
def test_idle_off_in_every_benchmark(name: str) -> None:
    source = (ROOT / name).read_text(encoding="utf-8")
    if name not in OF_ONE_SECTION:
        assert not makes_its_own(source), (
            "take benchmarks.common.configuration: idle work is off in it"
        )
    assert bool(ON.search(source)) == (name in MEASURE_IT), "idle work runs beside what is measured"


@pytest.mark.parametrize(
    "code", ["f(idle={'enabled': True})", "IdleOptions(enabled=True)", "replace(x, enabled=True)"]
)
def test_idle_off_who_turns_it_on_is_caught(code: str) -> None:
    assert ON.search(code)
    assert makes_its_own("from slowcat_memory.config import Config, load\nx = load(None)") == {
        "load"
    }
