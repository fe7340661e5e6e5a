"""Writes config.toml from the knobs: the reference, and the short file that ``init`` makes.

``python -m slowcat_memory.cli.setup.config_file > config.toml`` makes the repository's own.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec

from slowcat_memory.config import KNOBS, PRESETS, Config, Knob, options
from slowcat_memory.config.knobs import SECTIONS, limits
from slowcat_memory.idle.job import JobOptions

WIDTH = 98
HEAD = """\
The knobs of slowcat-memory with their defaults. A line takes effect without its "#".

Order of precedence, low to high: default, preset, this file, environment (SLOWCAT_RECALL__DEADLINE_MS=20 sets deadline_ms in [recall]). An unknown key is an error that names the nearest one. This file is read from ~/.slowcat/config.toml, or from where SLOWCAT_CONFIG says. `slowcat-memory config check` shows what is in effect, `config show --all` lists every expert option as well."""
JOBS_HEAD = """\
Idle jobs: one table for each, all keys optional. `slowcat-memory jobs` lists their names."""
EXPERT_HEAD = """\
Weights and internals without support, by their name in the code. They may change in any release."""
# The knobs in the file of `init`; `config show --all` lists all.
SHORT = (
    "memory.user_name",
    "memory.language",
    "memory.time_zone",
    "recall.token_budget",
    "recall.deadline_ms",
    "idle_llm.url",
    "retention.raw_days",
)


def render_config() -> str:
    """Return config.toml with every knob commented out, so that presets still apply."""
    lines = [*_comment(HEAD), "", *_presets()]
    section = ""
    for knob in KNOBS:
        table, _, key = knob.path.rpartition(".")
        if table != section:
            section = table
            lines += ["", f"[{table}]", *_comment(SECTIONS[table])]
        lines += ["", *_comment(sentence(knob)), f"#{key} = {toml(_default(knob))}"]
    return "\n".join([*lines, *_jobs(), *_expert()]) + "\n"


def render_short(store: str = "") -> str:
    """Return the file that ``init`` writes; ``store`` is its folder, "" for the default."""
    lines = ["# slowcat-memory. All knobs with their defaults: slowcat-memory config show --all"]
    by_path = {knob.path: knob for knob in KNOBS}
    section = ""
    for path in (*(("memory.path",) if store else ()), *SHORT):
        knob = by_path[path]
        table, _, key = path.rpartition(".")
        if table != section:
            section = table
            lines += ["", f"[{table}]"]
        lines += _comment(sentence(knob))
        value = store if path == "memory.path" else _default(knob)
        lines.append(f"{'' if path == 'memory.path' else '#'}{key} = {toml(value)}")
    return "\n".join(lines) + "\n"


def expert_options() -> Iterator[tuple[str, Any, str]]:
    """Yield name under ``[expert]``, default and description of options that are no knobs."""
    public = {knob.target for knob in KNOBS}
    words = {section.name: _attributes(section.type) for section in msgspec.structs.fields(Config)}
    for target, kind, default in options():
        if target not in public:
            section, _, field = target.partition(".")
            allowed = limits(kind)
            text = words.get(section, {}).get(field, "")
            yield target, default, f"{text} ({allowed})" if allowed else text


def toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def sentence(knob: Knob) -> str:
    kind = next(kind for target, kind, _ in options() if target == knob.target)
    allowed = limits(kind)
    return f"{knob.text} [{allowed}]" if allowed else knob.text


def _default(knob: Knob) -> Any:
    return next(default for target, _, default in options() if target == knob.target)


def _presets() -> list[str]:
    lines = []
    for preset, values in PRESETS.items():
        if values:
            knobs = ", ".join(f"{target} = {toml(value)}" for target, value in values.items())
            lines += _comment(f"preset {preset}: {knobs}", indent="    ")
    return lines


def _jobs() -> list[str]:
    lines = ["", *_comment(JOBS_HEAD), "#[jobs.facts]"]
    words = _attributes(JobOptions)
    for field in JobOptions.__struct_fields__:
        lines += _comment(f"{field}: {words.get(field, '')}", indent="    ")
    return lines


def _expert() -> list[str]:
    return ["", *_comment(EXPERT_HEAD), "#[expert]", '#"fuse.dense" = 0.24']


def _attributes(kind: Any) -> dict[str, str]:
    """Return the descriptions in a class's ``Attributes`` section."""
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", inspect.getdoc(kind) or "", re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in found}


def _comment(text: str, indent: str = "") -> list[str]:
    lines = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(
            paragraph, WIDTH, initial_indent="# ", subsequent_indent=f"# {indent}"
        ) or ["#"]
    return lines


if __name__ == "__main__":
    print(render_config(), end="")
