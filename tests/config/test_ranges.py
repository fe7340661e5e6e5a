"""Every number in a configuration has a range, wherever it is set."""

import math
from collections.abc import Iterator
from typing import Any

import msgspec.inspect as inspect
import pytest
from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.config import Config, build_options
from slowcat_memory.errors import ConfigError

Number = inspect.IntType | inspect.FloatType


def numbers(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Number]]:
    """Yield the path and type of each number, those of jobs' tables included."""
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from numbers(field.type, (*path, field.name))
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from numbers(one, path)
    elif isinstance(kind, inspect.DictType):
        yield from numbers(kind.value_type, (*path, "name"))
    elif isinstance(kind, Number):
        yield ".".join(path), kind


NUMBERS = dict(numbers(inspect.type_info(Config)))


def limits(kind: Number) -> tuple[Any, Any]:
    return (kind.gt if kind.ge is None else kind.ge, kind.lt if kind.le is None else kind.le)


def nested(path: str, value: object) -> dict[str, Any]:
    section, _, rest = path.partition(".")
    return {section: nested(rest, value)} if rest else {section: value}


def test_ranges_every_number_has_both_ends() -> None:
    assert len(NUMBERS) > 100
    assert [path for path, kind in NUMBERS.items() if None in limits(kind)] == []


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1e300, -1e9, 1 << 70])
def test_ranges_what_lies_outside_is_refused_with_its_path(wrong: float) -> None:
    accepted = []
    for path in NUMBERS:
        if path.startswith("idle.jobs"):
            continue  # the tables of jobs are checked by name first
        try:
            build_options(nested(path, wrong))
        except ConfigError as error:
            assert path.rpartition(".")[2] in str(error) or "." in error.message, error
        else:
            accepted.append(path)
    assert accepted == []


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("store", "queue_limit", 0),
        ("store", "map_size_gib", -1.0),
        ("store", "map_size_gib", math.nan),
    ],
)
def test_ranges_hold_for_a_configuration_that_is_built_in_code(config, section, field, value):
    wrong = replace(config, **{section: replace(getattr(config, section), **{field: value})})
    for build in (MemoryEngine, lambda one: HybridContextualMemoryProcessor(config=one)):
        with pytest.raises(ConfigError, match=field):
            build(wrong)
