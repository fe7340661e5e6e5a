#
# Copyright (c) 2026, the slowcat-memory authors
#
# SPDX-License-Identifier: BSD-2-Clause
#
"""The shortest Pipecat bot with a memory: you type, a model on this machine answers.

    pip install . && pip install --no-deps --require-hashes -r offline.txt
    ollama serve                        # or LM Studio, or llama-server
    ollama pull llama3.2
    python examples/minimal_bot.py      # Ctrl-C or Ctrl-D ends it

Tell it something, end it, start it again, and ask. LLM_URL and LLM_MODEL name another server, such
as http://localhost:1234/v1 for LM Studio.
"""

import asyncio
import os
import sys
import threading

from loguru import logger
from pipecat.frames.frames import EndFrame, LLMMessagesAppendFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.workers.runner import WorkerRunner

from slowcat_memory import HybridContextualMemoryProcessor


async def main():
    logger.remove()
    logger.add(sys.stderr, level="WARNING")

    memory = HybridContextualMemoryProcessor(user_id="anna")  # the one line

    await talk(memory, "You are a friendly assistant. Answer briefly.")


async def talk(memory, instruction, hear=lambda line: line):
    """Talk by keyboard until the end of input or Ctrl-C; ``hear`` returns the words of a line."""
    llm = OpenAILLMService(
        api_key="none",
        base_url=os.getenv("LLM_URL", "http://localhost:11434/v1"),
        settings=OpenAILLMService.Settings(
            model=os.getenv("LLM_MODEL", "llama3.2"), system_instruction=instruction
        ),
    )
    user_aggregator, assistant_aggregator = LLMContextAggregatorPair(
        LLMContext(tools=memory.tools("search_memory"))  # optional: lets the LLM search
    )
    worker = PipelineWorker(
        Pipeline([user_aggregator, memory, llm, assistant_aggregator]),
        # By default Pipecat ends a pipeline after five silent minutes.
        cancel_on_idle_timeout=False,
    )
    answered = asyncio.Event()

    @assistant_aggregator.event_handler("on_assistant_turn_stopped")
    async def on_answer(aggregator, message):
        print(message.content, flush=True)
        answered.set()

    async def send_lines():
        lines = read_lines()
        while (line := await lines.get()) is not None:
            if words := hear(line):
                answered.clear()
                message = {"role": "user", "content": words}
                await worker.queue_frame(LLMMessagesAppendFrame(messages=[message], run_llm=True))
                await answered.wait()
            show_prompt()
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner()  # ends the pipeline at Ctrl-C, and saves
    await runner.add_workers(worker)
    sending = asyncio.create_task(send_lines())
    show_prompt()
    await runner.run()
    sending.cancel()


def read_lines():
    """Return a queue of typed lines, None at their end.

    They are read on a thread that does not keep the program from ending.
    """
    lines, loop = asyncio.Queue(), asyncio.get_running_loop()

    def read():
        rest = b""
        while piece := os.read(0, 4096):  # not sys.stdin, whose lock would be held at exit
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                loop.call_soon_threadsafe(lines.put_nowait, line.decode(errors="replace").strip())
        loop.call_soon_threadsafe(lines.put_nowait, rest.decode(errors="replace").strip())
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def show_prompt():
    if sys.stdin.isatty():
        print("> ", end="", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
