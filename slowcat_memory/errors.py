"""Everything this package raises, sorted by whose fault it is.

::

    SlowcatError
    ├── ConfigError              you: a knob in config.toml or the environment
    ├── TranscriptError          you: a line of a transcript to import
    ├── StoreError               the store on disk
    │   ├── StoreBusyError       another process holds it for writing
    │   ├── StoreUnsafeError     its folder: not writable, somebody else's, a network file system
    │   ├── StoreTooNewError     written by a newer version
    │   ├── StoreDamagedError    does not read back what was written
    │   ├── StoreFullError       no room: disk full, or too much waits to be written
    │   └── StoreClosedError     used after close, or after fork
    ├── IndexDamagedError        an index file: derived, it is rebuilt from the log
    └── ProviderError            a model or an endpoint
        ├── ModelNotFoundError   no such embedding model here
        ├── EndpointRefusedError we refuse to talk to it (not on this machine)
        ├── EndpointError        it failed, timed out, or answered nonsense
        ├── BadAnswerError       an LLM answered, and its answer cannot be used
        └── PromptTooLongError   more than an LLM reads at once: split it

Each carries a ``hint``: what to do next. None of them ever reaches the frame path.
"""


class SlowcatError(Exception):
    """The base of this package's errors; not raised itself.

    Attributes:
        hint: What the reader can do about it, one sentence, may be empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message and the remedy.

        Args:
            message: What is wrong, naming the thing.
            hint: What to do next.
        """
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
    """Another process holds the store for writing.

    Attributes:
        pid: The holder's process id, 0 when unknown.
    """

    def __init__(self, message: str, *, hint: str = "", pid: int = 0) -> None:
        """Keep the holder.

        Args:
            message: What is wrong, naming the holder.
            hint: What to do next.
            pid: The holder's process id, 0 when unknown.
        """
        super().__init__(message, hint=hint)
        self.pid = pid


class StoreUnsafeError(StoreError):
    """The folder cannot hold a store safely."""


class StoreTooNewError(StoreError):
    """A newer version of this package wrote the store."""


class StoreDamagedError(StoreError):
    """The store does not read back what was written."""


class StoreFullError(StoreError):
    """There is no room to write."""


class StoreClosedError(StoreError):
    """The store was used after it was closed, or in a forked child."""


class IndexDamagedError(SlowcatError):
    """An index file does not match its manifest; it is rebuilt from the log."""


class ProviderError(SlowcatError):
    """A model or an endpoint failed."""


class ModelNotFoundError(ProviderError):
    """The embedding model is neither installed, cached, nor downloadable."""


class EndpointRefusedError(ProviderError):
    """The endpoint is not on this machine and was not explicitly allowed."""


class EndpointError(ProviderError):
    """The endpoint failed, timed out, or answered something unusable.

    Attributes:
        retry_after: Seconds that it asked to be left alone, 0 when it did not.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 0.0) -> None:
        """Keep the wait.

        Args:
            message: What is wrong, naming the server.
            hint: What to do next.
            retry_after: Seconds that it asked to be left alone.
        """
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BadAnswerError(ProviderError):
    """An LLM answered, and its answer cannot be used: cut off, no JSON, or not what was asked."""


class PromptTooLongError(ProviderError):
    """A prompt is longer than what an LLM reads at once, or was cut without a word."""
