"""Idle work between what a benchmark tells an engine and what it asks: by which LLM, and which jobs."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks import datasets, recorded_llm
from benchmarks.datasets import Dataset
from benchmarks.recorded_llm import Replier
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import LLM, ThinkingOptions, open_llm
from slowcat_memory.providers.llm.recording import RecordingLLM, ReplayingLLM

JOB = "contextualize"


class ThinkingChoice(Struct, frozen=True, kw_only=True):
    """Which LLM thinks.

    Attributes:
        recorded: Answers come from the data folder's own files.
        url: Of a server; "" for none.
        model: Its model, "" for the first.
        record: Keeps every prompt and answer.
        replay: Answers from such a file.
    """

    recorded: bool = False
    url: str = ""
    model: str = ""
    record: Path | None = None
    replay: Path | None = None

    def __bool__(self) -> bool:
        """Tell whether anything is thought at all."""
        return bool(self.recorded or self.url or self.replay)


class Thinker:
    """Has an engine think, and tells what came of it."""

    def __init__(self, llm: LLM | None = None, replier: Replier | None = None) -> None:
        """Choose the LLM, None for nobody; see `thinking`."""
        self.llm, self._replier = llm, replier

    def think(self, engine: MemoryEngine) -> None:
        """Do all idle work that is due. Blocks.

        Args:
            engine: Whose; always the same one.
        """
        if self.llm is None:
            return
        if self._replier is not None:
            self._replier.origin_of = lambda turn: _origin(engine, turn)
        engine.store.flush(None)
        engine.think([JOB])


@contextmanager
def thinking(choice: ThinkingChoice, folder: Path) -> Iterator[Thinker]:
    """Prepare the LLM.

    Args:
        choice: Which.
        folder: The data folder.

    Yields:
        What has an engine think.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine.
    """
    if not choice:
        yield Thinker()
        return
    with ExitStack() as stack:
        replier, url = None, choice.url
        if choice.recorded:
            replier = Replier(recorded_llm.read(folder))
            url = stack.enter_context(recorded_llm.serving(replier))
        llm: LLM | None
        if choice.replay:
            llm = ReplayingLLM(choice.replay)
        else:
            llm = open_llm(ThinkingOptions(url=url, model=choice.model))
        if choice.record and llm is not None:
            llm = recording = RecordingLLM(llm, choice.record)
            stack.callback(recording.close)
        yield Thinker(llm, replier)


def configured(config: Config) -> Config:
    """Have an engine think only when it is told to, and at once.

    Args:
        config: The configuration.

    Returns:
        The same without a thread of its own, grace, or pauses.
    """
    idle = replace(
        config.idle, enabled=False, grace_s=0.0, rest_s=0.05, backoff_s=0.05, on_battery=True
    )
    return replace(config, idle=idle)


def noted(data: Dataset, folder: Path) -> Dataset:
    """Keep the conversations of which every turn has a recorded text.

    Args:
        data: The data set.
        folder: Its folder.

    Returns:
        The data set with fewer questions.
    """
    return datasets.of_conversations(data, recorded_llm.read(folder).noted)


def add_llm(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who thinks.

    Args:
        parser: To add to.
    """
    parser.add_argument("--llm", choices=("none", "recorded"), default="none",
                        help="recorded: answer the product's prompts from the data folder")  # fmt: skip
    parser.add_argument(
        "--llm-url", default="", help="an OpenAI-compatible server that answers them"
    )
    parser.add_argument("--llm-model", default="", help="its model (default: its first)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep every prompt and answer")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="answer from a recorded file")
    parser.add_argument("--only-noted", action="store_true",
                        help=f"only conversations in {recorded_llm.NOTES}")  # fmt: skip


def choice_of(options: argparse.Namespace) -> ThinkingChoice:
    """Read the options of `add_llm`.

    Args:
        options: From the command line.

    Returns:
        Who thinks.
    """
    return ThinkingChoice(
        recorded=options.llm == "recorded",
        url=options.llm_url,
        model=options.llm_model,
        record=options.record,
        replay=options.replay,
    )


def summary(engine: MemoryEngine) -> dict[str, Any]:
    """Count what was thought.

    Args:
        engine: After it thought.

    Returns:
        ``contexts``, ``keys``, ``dead`` (tasks given up), and the idle counters.
    """
    with engine.store.snapshot() as snapshot:
        scopes = snapshot.scopes()
        made = {
            "contexts": sum(1 for scope in scopes for _ in snapshot.contexts(scope)),
            "keys": sum(1 for scope in scopes for _ in snapshot.keys(scope)),
            "dead": len(list(snapshot.tasks(state="dead"))),
        }
    counts = engine.metrics.counts()
    return made | {name: n for name, n in counts.items() if name.startswith("idle_")}


def _origin(engine: MemoryEngine, turn: int) -> str:
    with engine.store.snapshot() as snapshot:
        said = snapshot.turn(turn)
    return said.origin if said else ""
