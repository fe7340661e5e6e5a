"""Every type of reply that a job asks an LLM for, and a good reply of each."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

import slowcat_memory

PACKAGE = Path(slowcat_memory.__file__).parent


def reply_types() -> dict[str, type[Struct]]:
    """Return the second arguments of all calls ``complete(prompt, TYPE)`` of the jobs."""
    return {
        one.__name__: one for path in sorted(PACKAGE.glob("idle/jobs/**/*.py")) for one in _of(path)
    }


def _of(path: Path) -> Iterator[type[Struct]]:
    module = importlib.import_module(
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    )
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if called and node.func.attr == "complete" and len(node.args) == 2:  # type: ignore[union-attr]
            value: Any = module
            for name in ast.unparse(node.args[1]).split("."):  # type: ignore[union-attr]
                value = getattr(value, name)
            yield value


def list_fields(reply: type[Struct]) -> dict[str, Any]:
    """Return the types of the items of a reply's lists, by field."""
    hints = get_type_hints(reply)
    return {
        name: get_args(hint)[0]
        for name, hint in hints.items()
        if get_origin(hint) in (list, tuple) and name in reply.__struct_fields__
    }


def good(of: Any, number: int = 1) -> Any:
    """Return a value of a type as JSON; another ``number`` (1 to 9) makes another value."""
    if isinstance(of, type) and issubclass(of, Struct):
        hints = get_type_hints(of)
        return {name: good(hints[name], number) for name in of.__struct_fields__}
    origin, arguments = get_origin(of), get_args(of)
    if origin is Annotated:
        return good(arguments[0], number)
    if origin in (Union, UnionType):
        return good(next(one for one in arguments if one is not type(None)), number)
    if origin in (list, tuple):
        return [good(arguments[0], one) for one in (number, number + 1)]
    if origin is dict:
        return {"email": f"mira{number}@example.org"}
    if origin is Literal:
        return arguments[number % len(arguments)]
    return {int: number, bool: number % 2 == 1, float: 0.5, str: f"Mira moves {number}"}[of]


def read(value: Any, into: type[Struct]) -> Struct:
    return msgspec.convert(value, into, strict=True)


def structs(reply: type[Struct]) -> list[type[Struct]]:
    """Return a reply's type, and those of its items."""
    return [reply, *(one for one in list_fields(reply).values() if issubclass(one, Struct))]
