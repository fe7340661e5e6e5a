"""Writes config.toml from the knobs, and says which are in effect and where each value is from.

``python -m slowcat_memory.cli.config_file > config.toml`` makes the repository's own.
"""

import inspect
import json
import os
import textwrap
from collections.abc import Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
from rich.text import Text

from slowcat_memory import providers
from slowcat_memory.cli import shell
from slowcat_memory.cli.shell import Settings, described, done, out, print_entries, say, warn
from slowcat_memory.config.config import Config, check_names
from slowcat_memory.config.knobs import KNOBS, PATHS, SECTIONS, limits, options
from slowcat_memory.config.loader import file_to_read, overrides, variable_of
from slowcat_memory.errors import ConfigError, SlowcatError
from slowcat_memory.idle.options import JobOptions
from slowcat_memory.providers.llm.base import AUTO
from slowcat_memory.providers.loopback import check_loopback

WIDTH = 98
HEAD = """\
The knobs of slowcat-memory with their defaults. A line takes effect without its "#".

Order of precedence, low to high: default, this file, environment (SLOWCAT_RECALL__DEADLINE_MS=20 sets deadline_ms in [recall]). An unknown key is an error that names the nearest one. This file is read from ~/.slowcat/config.toml, or from where SLOWCAT_CONFIG says. `slowcat-memory config check` shows what is in effect, `config show --all` lists every expert option as well."""
JOBS_HEAD = """\
Idle jobs: one table for each, all keys optional. docs/idle-work.md lists their names."""
EXPERT_HEAD = """\
Weights and internals without support, by their name in the code. They may change in any release."""
toml = partial(json.dumps, ensure_ascii=False)  # what an option may be is written alike in both
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
    """Return config.toml with every knob commented out."""
    lines = [*_comment(HEAD), *_knobs(KNOBS, {}, whole=True), *_jobs()]
    return "\n".join([*lines, "", *_comment(EXPERT_HEAD), "#[expert]", '#"fuse.dense" = 0.24', ""])


def render_short(store: str) -> str:
    """Return the file that ``init`` writes; ``store`` is its folder, "" for the default."""
    head = "# slowcat-memory. All knobs with their defaults: slowcat-memory config show --all"
    values = {"memory.path": store} if store else {}
    return "\n".join([head, *_knobs((*values, *SHORT), values, whole=False), ""])


def _knobs(paths: Iterable[str], values: dict[str, str], *, whole: bool) -> Iterator[str]:
    """Yield knobs with their descriptions; those without a value as comments with the default."""
    section, every = "", described_options()
    for path in paths:
        table, _, key = path.rpartition(".")
        if table != section:
            section = table
            yield from ("", f"[{table}]", *(_comment(SECTIONS[table]) if whole else ()))
        default, text = every[KNOBS[path]]
        first = text.partition(". ")[0].rstrip(".")
        yield from ("", *_comment(text)) if whole else _comment(f"{first}.")
        value = values.get(path)
        yield f"#{key} = {toml(default)}" if value is None else f"{key} = {toml(value)}"


def described_options() -> dict[str, tuple[Any, str]]:
    """Return the default and the description of every option, by its name in the code."""
    words = {section.name: _attributes(section.type) for section in msgspec.structs.fields(Config)}
    every = {}
    for target, kind, default in options():
        section, _, field = target.rpartition(".")
        text, allowed = words[section].get(field, ""), limits(kind)
        every[target] = default, f"{text} [{allowed}]" if allowed else text
    return every


def _jobs() -> Iterator[str]:
    yield from ("", *_comment(JOBS_HEAD), "#[jobs.facts]")
    for field, text in _attributes(JobOptions).items():
        yield from _comment(f"{field}: {text}", indent="    ")


def _attributes(kind: Any) -> dict[str, str]:
    """Return the descriptions in a class's ``Attributes`` section."""
    about = described(inspect.getdoc(kind) or "")
    return {name: text.replace("``", "`") for name, (_, text) in about.items()}


def _comment(text: str, indent: str = "") -> Iterator[str]:
    wrapper = textwrap.TextWrapper(WIDTH, "# ", f"# {indent}")
    for paragraph in text.split("\n"):
        yield from wrapper.wrap(paragraph) or ["#"]


# ------------------------------------------------------------------- config check, config show


def print_checked(known: Settings) -> None:
    """Print every option that is not at its default, and the source of its value.

    Raises:
        ConfigError: A name in it does not exist, or a server cannot be used.
    """
    check_names(known.config)
    _check_urls(known.config)
    _, report = providers.open_query_embedder(known.config.embedding)
    if report.state == "missing":
        warn(f"Search is by words only: {report.source}. {report.hint}")
    changed, used = list(_changed_options(known)), file_to_read(known.file, os.environ)
    if known.as_json:
        return shell.print_json({"file": str(used or ""), "changed": changed})
    if used:
        done(f"{used}: the configuration is valid.")
    else:
        say("No configuration file; using the defaults.")
    about = [f"{row['from']}, default {row['default']}" for row in changed]
    values = [f"{row['knob']} = {row['value']}" for row in changed]
    print_entries([("", *row) for row in zip(values, about, strict=True)])
    say(f"{shell.count(len(changed), 'knob')} not at the default", "dim")
    if expert := [option["knob"] for option in changed if option["expert"]]:
        warn(f"Expert options, without support: {', '.join(expert)}.")


def print_knobs(config: Config, everything: bool) -> None:
    """Print the value of every knob as TOML; with its meaning, and expert options, if asked."""
    section, every = "", described_options()
    shown = [(*path.rpartition(".")[::2], target) for path, target in KNOBS.items()]
    if everything:
        shown += [("expert", f'"{target}"', target) for target in every if target not in PATHS]
    for table, key, target in shown:
        if table != section:
            section = table
            say(f"\n[{section}]", "bold")
        default, text = every[target]
        if everything:
            say(f"# {text}", "dim")
        line = Text(f"{key} = {toml(value := attrgetter(target)(config))}")
        if value != default:
            line.stylize("green")
            line.append(f"  # default {toml(default)}", "dim")
        out().print(line)


def _check_urls(config: "Config") -> None:
    """Check that every server's URL is one, and names this machine unless others are allowed."""
    for path, url, allowed in (
        ("idle_llm.url", config.thinking.url, config.thinking.allow_remote),
        ("chat_llm.url", config.llm.url, config.llm.allow_remote),
        ("embedding.endpoint_url", config.embedding.endpoint_url, config.embedding.allow_remote),
    ):
        try:
            if url not in ("", AUTO):
                check_loopback(url, allowed)
        except SlowcatError as error:
            raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error


def _changed_options(known: Settings) -> Iterator[dict[str, Any]]:
    """Yield name, value, default, source and expert flag of each option not at its default."""
    file, from_environment = str(file_to_read(known.file, os.environ)), overrides(os.environ)
    for target, _, default in options():
        value = attrgetter(target)(known.config)
        if value != default:
            source = variable_of(target) if target in from_environment else file
            if target == "memory.path" and known.store is not None:
                source = "--path"
            yield {
                "knob": PATHS.get(target, f"expert.{target}"),
                "value": value,
                "default": default,
                "from": source,
                "expert": target not in PATHS,
            }


if __name__ == "__main__":
    print(render_config(), end="")
