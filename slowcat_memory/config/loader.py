"""Reads config.toml and the environment into a ``Config``.

Order of precedence, low to high: the defaults in the code, the file, the environment.
``SLOWCAT_RECALL__DEADLINE_MS=20`` sets ``[recall] deadline_ms``; a list has commas between its
items. An unknown key is an error with its path and the nearest valid name.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger

from slowcat_memory.config.config import Config
from slowcat_memory.config.knobs import JOBS, KNOBS, PATHS, SECTIONS, limits, options
from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.options import JobOptions

PREFIX, SEPARATOR = "SLOWCAT_", "__"
FOREIGN = frozenset({"SLOWCAT_CACHE_DIR", "SLOWCAT_CONFIG"})  # not options: read by other code
EXPERT, JOB_TABLE = "expert", "jobs"
WORDS = {
    "int": "a whole number",
    "float": "a decimal number",
    "str": "text",
    "bool": "true or false",
}


def default_file() -> Path:
    """Return the path that is read when no file is named: beside the default store."""
    return Path("~/.slowcat/config.toml").expanduser()


def file_to_read(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the configuration file: the given one, that of SLOWCAT_CONFIG, or the default one.

    None when none is named and the default does not exist. An empty SLOWCAT_CONFIG reads no file.
    """
    if path is not None:
        return path
    if (named := environ.get("SLOWCAT_CONFIG")) is not None:
        return Path(named).expanduser() if named else None
    return default if (default := default_file()).is_file() else None


def load(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration.

    Args:
        path: None for the file of SLOWCAT_CONFIG, else ``~/.slowcat/config.toml``.
        environ: None for this process's environment.

    Raises:
        ConfigError: A missing file, invalid TOML, an unknown key, or a value out of range.
    """
    environ = os.environ if environ is None else environ
    file = file_to_read(path, environ)
    if file is not None:
        logger.info(f"configuration: {file}")
    return build(read(file) if file else {}, environ)


def build(values: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
    """Build a configuration from tables of config.toml: sections, ``[jobs.NAME]``, ``[expert]``.

    Raises:
        ConfigError: An unknown key or a wrong value, with its path.
    """
    config = build_options(_nested(dict(_targets(values)) | overrides(environ or {})))
    if config.idle.jobs:
        from slowcat_memory.idle.registry import check_jobs  # which loads all jobs

        check_jobs(config.idle.jobs)
    return config


def build_options(sections: Mapping[str, Any]) -> Config:
    """Build a configuration from ``Config`` sections and their fields, for programs and tests.

    Raises:
        ConfigError: An unknown field or a wrong value, with its path.
    """
    known = _known()
    filled = {section: value for section, value in sections.items() if value != {}}
    for path in _flat(filled):
        if path not in known and not path.startswith(f"{JOBS}."):
            raise ConfigError(f"{path}: no such option", hint=_nearest(path, known))
    try:
        return msgspec.convert(sections, Config, strict=False)
    except msgspec.ValidationError as error:
        raise _error_of(error) from error


def check_ranges(config: Config) -> Config:
    """Return a configuration unchanged: a struct built in code is not checked when it is built.

    Raises:
        ConfigError: A value is out of range or of the wrong type; names its path.
    """
    try:
        msgspec.convert(msgspec.to_builtins(config), Config)
    except msgspec.ValidationError as error:
        raise _error_of(error) from error
    return config


def variable_of(target: str) -> str:
    path = PATHS.get(target, f"{EXPERT}.{target}")
    return PREFIX + path.replace(".", SEPARATOR).upper()


def read(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", hint="`slowcat-memory init` writes one"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


@cache
def _known() -> dict[str, tuple[Any, Any]]:
    """Return the type and default of every option; listing them reads type hints, about a millisecond."""
    return {target: (kind, default) for target, kind, default in options()}


def _targets(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (target, value) for every key of a file."""
    for section, value in values.items():
        if section == JOB_TABLE:
            yield from _job_targets(value)
        elif section == EXPERT:
            for path, inner in _flat(value if isinstance(value, Mapping) else {"": value}).items():
                if path not in _known():
                    hint = _nearest(path, _known())
                    raise ConfigError(f"{EXPERT}.{path}: no such option", hint=hint)
                yield path, inner
        elif isinstance(value, Mapping) and any(
            path.startswith(f"{section}.") for path in (*KNOBS, *_known())
        ):
            for key, inner in value.items():
                yield _target(f"{section}.{key}", inner)
        else:
            yield _target(section, value)


def _target(path: str, value: Any) -> tuple[str, Any]:
    if path in SECTIONS:
        raise ConfigError(f"{path}: expected a table, got {value!r}", hint=f"Write [{path}]")
    if path in KNOBS:
        return KNOBS[path], value
    if path in PATHS:
        hint = f"Did you mean {PATHS[path]}?"
    elif path in _known():
        hint = f'Write "{path}" under [{EXPERT}]'
    else:
        hint = _nearest(path, KNOBS)
    raise ConfigError(f"{path}: no such key", hint=hint)


def _job_targets(table: Any) -> Iterator[tuple[str, Any]]:
    known = JobOptions.__struct_fields__
    for path, value in _flat({JOB_TABLE: table}).items():
        job, _, field = path.removeprefix(f"{JOB_TABLE}.").rpartition(".")
        if value == {}:
            continue
        if not job:
            raise ConfigError(f"{path}: expected a table", hint=f"Write [{JOB_TABLE}.facts]")
        if field not in known:
            raise ConfigError(f"{path}: no such key", hint=f"A job has {', '.join(known)}")
        try:
            msgspec.convert({field: value}, JobOptions, strict=False)
        except msgspec.ValidationError as error:  # that of all options does not name the job
            raise ConfigError(f"{path}: {_in_words(error)[0]}") from error
        yield f"{JOBS}.{job}.{field}", value


def _nearest(path: str, known: Any) -> str:
    every = [*known, *SECTIONS]
    same_name = [name for name in every if name.rsplit(".")[-1] == path.rsplit(".")[-1]]
    near = same_name or difflib.get_close_matches(path, every, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]}?"
    return "`slowcat-memory config show --all` lists every knob"


def overrides(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that the environment sets, by target; warns of names that set none."""
    known = _known()
    values: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in FOREIGN:
            continue
        path = name.removeprefix(PREFIX).lower().replace(SEPARATOR, ".")
        try:
            for target, _ in _targets(_nested({path: text})):
                values[target] = text
                if isinstance(known.get(target, (None, None))[1], tuple):
                    values[target] = [item.strip() for item in text.split(",") if item.strip()]
        except ConfigError as error:
            logger.warning(f"{name} sets no knob and is ignored. {error.hint}")
    return values


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}.{key}".lstrip(".")
        flat |= _flat(value, name) if isinstance(value, Mapping) and value else {name: value}
    return flat


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables from dotted paths; a value in place of a table is left to the type check."""
    tables: dict[str, Any] = {}
    for path, value in flat.items():
        *parents, key = path.split(".")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        table[key] = value
    return tables


def _error_of(error: msgspec.ValidationError) -> ConfigError:
    what, target = _in_words(error)
    known = _known()
    path = PATHS.get(target, target.replace(f"{JOBS}.", f"{JOB_TABLE}.", 1))
    allowed = limits(known[target][0]) if target in known else ""
    return ConfigError(f"{path or 'config'}: {what}", hint=f"It is {allowed}" if allowed else "")


def _in_words(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return what is wrong in plain words, and the path of the value."""
    what, _, where = str(error).partition(" - at `$")
    what = re.sub(r"`(\w+)`", lambda kind: WORDS.get(kind[1], kind[1]), what)
    return what.replace(", got ", ", not "), where.strip(".`")
