"""config.toml, written from the options in the code: each knob with its words and its default.

``python -m slowcat_memory.cli.setup.config_file > config.toml`` makes the repository's own.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from slowcat_memory.config import PRESETS, Config

WIDTH = 96
HEAD = """\
Every knob of slowcat-memory with its default. A line takes effect without its "#".

A key that does not exist is an error that names the nearest right one; `slowcat-memory config check` shows what is in effect and where it comes from. Low to high: the default, the preset, this file, the environment. SLOWCAT_RECALL__DEADLINE_MS=20 sets deadline_ms in [recall].

SLOWCAT_CONFIG names the file to read, for the command line and for agents that name none."""
HALVES = ("Behaviour:", "Performance:")
_KNOB, _MORE = re.compile(r"    (\w+): (.*)"), re.compile(r"        (.*)")


class Described(Struct, frozen=True):
    """The words of a section.

    Attributes:
        summary: What it is about.
        knobs: What each knob means.
        halves: The heading that stands before a knob, by the knob.
    """

    summary: str
    knobs: dict[str, str]
    halves: dict[str, str]


def describe(options: type[Struct]) -> Described:
    """Read what an Options class says about itself.

    Args:
        options: The class; its docstring has ``Attributes:``, perhaps in two halves.

    Returns:
        The words.
    """
    lines = (inspect.getdoc(options) or "").splitlines()
    knobs: dict[str, str] = {}
    halves: dict[str, str] = {}
    name = half = ""
    for line in lines[1:]:
        if found := _KNOB.fullmatch(line):
            name, knobs[found[1]] = found[1], found[2]
            if half:
                halves[name], half = half, ""
        elif (found := _MORE.fullmatch(line)) and name:
            knobs[name] += f" {found[1]}"
        else:
            name, half = "", line.strip(":") if line in HALVES else half
    return Described(lines[0] if lines else "", knobs, halves)


def sections() -> Iterator[tuple[str, type[Struct]]]:
    """List the tables of config.toml.

    Yields:
        Name and class.
    """
    for section in msgspec.structs.fields(Config):
        if isinstance(section.type, type) and issubclass(section.type, Struct):
            yield section.name, section.type


def render_config() -> str:
    """Write the whole of config.toml.

    Returns:
        TOML in which every knob is commented out, so that a preset can still set it.
    """
    lines = [*_comment(HEAD), "", *_presets()]
    lines += _knobs(Config, [f for f in msgspec.structs.fields(Config) if f.name == "preset"])
    for name, options in sections():
        lines += ["", f"[{name}]", *_comment(describe(options).summary)]
        lines += _knobs(options, msgspec.structs.fields(options))
    return "\n".join(lines) + "\n"


def _presets() -> list[str]:
    lines = _comment("The presets, and what each sets:")
    for preset, tables in PRESETS.items():
        knobs = [f"{t}.{k} = {toml(v)}" for t, values in tables.items() for k, v in values.items()]
        lines += _comment(f"{preset}: {', '.join(knobs) or 'nothing'}", indent="    ")
    return lines


def _knobs(options: type[Struct], fields: Any) -> Iterator[str]:
    words = describe(options)
    for knob in fields:
        if knob.default is msgspec.NODEFAULT:  # a table by name, such as ``idle.jobs``
            continue
        yield ""
        if knob.name in words.halves:
            yield from (f"# --- {words.halves[knob.name]}", "")
        yield from _comment(words.knobs.get(knob.name, "") + _choices(knob.type))
        yield f"#{knob.name} = {toml(knob.default)}"


def _choices(kind: Any) -> str:
    if get_origin(kind) is not Literal:
        return ""
    return f" One of {', '.join(toml(value) for value in get_args(kind))}."


def toml(value: Any) -> str:
    """Write a value as TOML.

    Args:
        value: A string, number, truth, or several strings.

    Returns:
        Its literal.
    """
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str, indent: str = "") -> list[str]:
    lines = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(
            paragraph, WIDTH, initial_indent="# ", subsequent_indent=f"# {indent}"
        ) or ["#"]
    return lines


if __name__ == "__main__":
    print(render_config(), end="")
