"""Who thinks while nobody speaks, for the benchmarks of what that costs the conversation."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.errors import EndpointError, SlowcatError
from slowcat_memory.idle.gate import IdleGate
from slowcat_memory.providers import LLM, Prompt, ThinkingOptions
from slowcat_memory.providers.openai_llm import OpenAILLM

MARK = "This is idle work."
LOOK_S = 0.002  # a closed gate is looked at as often, so that steps are begun at any moment
WORDS = (
    400  # of an answer: longer than anybody is silent here, so that it is under way when they speak
)


class Answer(Struct, forbid_unknown_fields=True):
    """What the LLM is asked for."""

    text: str


def is_idle_work(request: dict) -> bool:
    """Tell whether a request is a thinker's.

    Args:
        request: The body of a chat request.
    """
    return any(MARK in str(message["content"]) for message in request["messages"])


@contextlib.contextmanager
def thinking(gate: IdleGate, url: str) -> Iterator[None]:
    """Think whenever the gate is open, one request after another, on a thread with its own loop.

    Args:
        gate: When.
        url: Of the LLM's server.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(_think(gate, url))

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    thread = threading.Thread(target=run, name="thinker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        thread.join(5.0)


async def _think(gate: IdleGate, url: str) -> None:
    llm = OpenAILLM(ThinkingOptions(url=url))
    try:
        while True:
            if gate.opens_in():
                await asyncio.sleep(LOOK_S)
            else:
                await _step(gate, llm)
    finally:
        await llm.close()


async def _step(gate: IdleGate, llm: LLM) -> None:
    """Ask once; dropped the moment the gate closes."""
    loop, prompt = asyncio.get_running_loop(), Prompt(job="think", version=1, system=MARK, user="…")
    asking = loop.create_task(llm.complete(prompt, Answer))
    end = gate.on_close(lambda: loop.call_soon_threadsafe(asking.cancel))
    try:
        if gate.opens_in():  # it closed before we listened
            asking.cancel()
        await asyncio.wait((asking,))
    finally:
        end()
        asking.cancel()
    if not asking.cancelled() and (error := asking.exception()):
        if not isinstance(error, SlowcatError):
            raise error
        if isinstance(error, EndpointError):
            await asyncio.sleep(0.05)
