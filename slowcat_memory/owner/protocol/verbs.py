"""The calls of ``engine.memory.Memory`` over the wire, made from its signatures.

A method needs no code here: its parameters become a record, its result is decoded as the type that
the protocol names (as any of this package's records where it names ``Any``). Parameters that are
functions stay with the client, which is told when to call them.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from slowcat_memory import errors
from slowcat_memory.engine.memory import Memory
from slowcat_memory.errors import SlowcatError, StoreError
from slowcat_memory.owner.protocol.messages import Failure
from slowcat_memory.owner.protocol.wire import Tagged, decoder, encode, tagged, untagged
from slowcat_memory.runtime.recall.query import Recollection

BY_HAND = frozenset(
    {"append", "append_all", "recall", "prefetch", "pack", "note_recall", "set_activity",
     "snapshot", "subscribe", "release"}
)  # fmt: skip
"""Methods that are more than a call and its answer."""

_FAULTS: Mapping[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, KeyError, TypeError, TimeoutError, OSError)
}


class Verb:
    """How one method's arguments and result are coded.

    Attributes:
        callbacks: Names of its parameters that are functions.
    """

    def __init__(self, name: str) -> None:
        member: Any = inspect.getattr_static(Memory, name)
        self.name, self.is_property = name, isinstance(member, property)
        function: Any = member.fget if isinstance(member, property) else member
        hints = get_type_hints(function)
        result = hints.pop("return", Any)
        self._signature = inspect.signature(function)
        self.callbacks = tuple(name for name, hint in hints.items() if _is_function(hint))
        self._arguments = decoder(_record(name, self._signature, hints, self.callbacks))
        self._result = decoder(Tagged if result is Any else result)
        self._is_any = result is Any

    def encode_arguments(self, *args: Any, **kwargs: Any) -> bytes:
        """Return the arguments of a call, without those that are functions.

        Raises:
            TypeError: The method takes other arguments.
        """
        bound = self._signature.bind(None, *args, **kwargs).arguments
        bound.pop("self", None)
        return encode({name: one for name, one in bound.items() if name not in self.callbacks})

    def functions(self, *args: Any, **kwargs: Any) -> dict[str, Callable[..., Any]]:
        """Return the arguments of a call that are functions."""
        bound = self._signature.bind(None, *args, **kwargs).arguments
        return {name: bound[name] for name in self.callbacks if bound.get(name) is not None}

    def decode_arguments(self, sent: msgspec.Raw) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments."""
        found = self._arguments.decode(sent)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in list(self._signature.parameters.items())[1:]:
            value = getattr(found, name, msgspec.UNSET)
            if value is msgspec.UNSET:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                args += value
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                kwargs |= value
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def encode_result(self, result: Any) -> bytes:
        if isinstance(result, Recollection):  # its candidates are the index's own arrays
            result = replace(result, trace=None)
        return encode(tagged(result) if self._is_any else result)

    def decode_result(self, sent: msgspec.Raw) -> Any:
        found = self._result.decode(sent)
        return untagged(found) if self._is_any else found


def _record(
    name: str,
    signature: inspect.Signature,
    hints: Mapping[str, Any],
    callbacks: tuple[str, ...],
) -> type[msgspec.Struct]:
    """Return the type of a method's arguments; those that are missing have their defaults."""
    fields = []
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.name in callbacks:
            continue
        hint = hints[parameter.name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            hint = tuple.__class_getitem__((hint, ...))
        if get_origin(hint) is typing.Unpack:
            (hint,) = get_args(hint)
        fields.append((parameter.name, hint | msgspec.UnsetType, msgspec.UNSET))
    return msgspec.defstruct(name, fields, kw_only=True, module=__name__)


def _is_function(hint: Any) -> bool:
    if get_origin(hint) in (typing.Union, type(int | str)):
        return any(_is_function(one) for one in get_args(hint))
    return get_origin(hint) is Callable or hint is Callable or get_origin(hint) is _CALLABLE


_CALLABLE = get_origin(Callable[[], None])


@cache
def verb(name: str) -> Verb:
    """Return a method or property of the protocol.

    Raises:
        KeyError: There is none that can be called from another process.
    """
    if name not in CALLED:
        raise KeyError(name)
    return Verb(name)


def _called() -> frozenset[str]:
    members = vars(Memory).items()
    methods = {n for n, one in members if inspect.isfunction(one) and not n.startswith("_")}
    properties = {n for n, one in members if isinstance(one, property)}
    return frozenset(methods | properties) - BY_HAND


CALLED = _called()
"""Names of the methods and properties that are a call and its answer."""


# ------------------------------------------------------------------- errors


def failure(error: BaseException) -> Failure:
    """Return an error as it is sent."""
    if isinstance(error, SlowcatError):
        return Failure(type(error).__name__, error.message, error.hint)
    if isinstance(error, KeyError) and error.args:
        return Failure("KeyError", str(error.args[0]))
    return Failure(type(error).__name__, str(error))


def error_of(sent: Failure) -> Exception:
    """Return an error of the same class; a ``StoreError`` where that is unknown here."""
    kind = getattr(errors, sent.kind, None)
    if isinstance(kind, type) and issubclass(kind, SlowcatError):
        return kind(sent.message, hint=sent.hint)
    if fault := _FAULTS.get(sent.kind):
        return fault(sent.message)
    return StoreError(f"the memory's owner failed: {sent.kind}: {sent.message}", hint=sent.hint)
