"""All errors of this package, by cause.

::

    SlowcatError
    ├── ConfigError              a value in config.toml or the environment
    ├── TranscriptError          a line of a transcript to import
    ├── StoreError               the store on disk
    │   ├── StoreBusyError       another process holds it for writing
    │   ├── StoreUnsafeError     its folder: not writable, another user's, a network file system
    │   ├── StoreFormatError     written in another format
    │   ├── StoreDamagedError    does not read back what was written
    │   ├── StoreGoneError       its folder or file was deleted or replaced while it was open
    │   ├── StoreFullError       no space: disk full, or too much waits to be written
    │   ├── StoreClosedError     used after close, or after fork
    │   └── FleetError           a memory that several machines share
    │       ├── DatabaseAwayError   the database cannot be reached, or refuses for now
    │       ├── BusyElsewhereError  another worker talks to this person
    │       └── LeaseLostError      another worker has taken this person over
    ├── IndexDamagedError        an index file; it is rebuilt from the log
    └── ProviderError            a model or an endpoint
        ├── ModelNotFoundError   no such embedding model here
        ├── EndpointRefusedError it is not on this machine, and that is not allowed
        ├── EndpointError        it failed, timed out, or its answer is malformed
        ├── BadAnswerError       an LLM answered, and its answer cannot be used
        │   └── PromptRefusedError  it was not asked: the prompt must stay on this machine
        └── PromptTooLongError   the prompt exceeds the LLM's context: split it

Each carries a ``hint``: what to do next. None of them reaches the pipeline's frames, and no message
holds what anybody said: ``describe_error`` is what logs show of an error. One that is kept is not
raised itself, see ``engine.availability.fresh``.
"""

import traceback
from pathlib import Path

_PACKAGE = Path(__file__).parent
MOST_CAUSES, MOST_ERROR_CHARS = 4, 400


def how_to_install(extra: str) -> str:
    """Return the hint of an error that an extra of this package would mend."""
    return f'In a clone of this project: pip install ".[{extra}]"'


class SlowcatError(Exception):
    """Base class; not raised itself.

    Attributes:
        message: What is wrong, naming the thing.
        hint: What to do next: one sentence, may be empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.message = message
        self.hint = hint


class ConfigError(SlowcatError):
    """A configuration value is wrong; the message names its path."""


class TranscriptError(SlowcatError):
    """A transcript could not be read; the message names the line."""


class StoreError(SlowcatError):
    """The store on disk failed."""


class StoreBusyError(StoreError):
    """A process, another one or this, has the store."""


class StoreUnsafeError(StoreError):
    """The folder cannot hold a store safely."""


class StoreFormatError(StoreError):
    """Another version of this package wrote the store, in a format that this one cannot read."""

    REMEDY = (
        "Export it with the version that wrote it (`slowcat-memory export`), and `slowcat-memory "
        "import` that into a new folder."
    )

    def __init__(self, message: str, *, hint: str = REMEDY) -> None:
        super().__init__(message, hint=hint)


class StoreDamagedError(StoreError):
    """The store does not read back what was written."""


class StoreGoneError(StoreError):
    """The store's folder or file was deleted, or replaced by another one, while it was open."""


class StoreFullError(StoreError):
    """There is no space to write, or the write queue is full."""


class StoreClosedError(StoreError):
    """The store was used after it was closed, or in a forked child."""


class FleetError(StoreError):
    """A memory that several machines share cannot be used as asked."""


class DatabaseAwayError(FleetError):
    """The database of a fleet cannot be reached, or refuses for now: the same may work later."""


class BusyElsewhereError(FleetError):
    """Another worker has the lease of this person's memory."""


class LeaseLostError(FleetError):
    """Another worker has taken this person's memory over: writes from here are refused."""


class IndexDamagedError(SlowcatError):
    """An index file does not match its manifest; it is rebuilt from the log."""


class ProviderError(SlowcatError):
    """A model or an endpoint failed."""


class ModelNotFoundError(ProviderError):
    """The embedding model is neither installed, cached, nor downloadable."""


class EndpointRefusedError(ProviderError):
    """The endpoint is not on this machine and was not explicitly allowed."""


class EndpointError(ProviderError):
    """The endpoint failed, timed out, or its answer is malformed.

    Attributes:
        retry_after: Seconds to wait before the next request, as the server asked; 0 when it did not.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BadAnswerError(ProviderError):
    """An LLM's answer is unusable: cut off, not JSON, or not what was asked for."""


class PromptRefusedError(BadAnswerError):
    """A prompt was not sent: it holds what must not reach an LLM on another machine."""


class PromptTooLongError(ProviderError):
    """A prompt exceeds the LLM's context, or the server truncated it silently."""


def describe_error(error: BaseException) -> str:
    """Return an error in one line, for logs and rows: nothing that was said, and no variable's value.

    Of an error of this package its message. Of any other, whose message may quote a user, the type
    and the innermost line of this package that it passed, and the same of what caused it.
    """
    parts, fault = list[str](), error
    for _ in range(MOST_CAUSES):
        if isinstance(fault, SlowcatError):
            parts.append(f"{type(fault).__name__}: {fault.message}")
            break
        parts.append(type(fault).__name__ + _place(fault))
        cause = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)
        if cause is None:
            break
        fault = cause
    return ", caused by ".join(parts)[:MOST_ERROR_CHARS]


def _place(error: BaseException) -> str:
    frames = traceback.walk_tb(error.__traceback__)
    lines = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    own = [(path, line) for path, line in lines if path.is_relative_to(_PACKAGE)]
    return f" at {own[-1][0].relative_to(_PACKAGE.parent)}:{own[-1][1]}" if own else ""
