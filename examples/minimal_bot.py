#
# Copyright (c) 2026, the slowcat-memory authors
#
# SPDX-License-Identifier: BSD-2-Clause
#
"""The shortest Pipecat bot with a memory: you type, a model on this machine answers.

    pip install "pipecat-slowcat-memory[offline]"
    ollama serve                        # or LM Studio, or llama-server
    ollama pull llama3.2
    python examples/minimal_bot.py      # Ctrl-D ends it

Tell it something, end it, start it again, and ask. LLM_URL and LLM_MODEL name another server, such
as http://localhost:1234/v1 for LM Studio.
"""

import asyncio
import os
import sys

from loguru import logger
from pipecat.frames.frames import EndFrame, LLMMessagesAppendFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.workers.runner import WorkerRunner

from slowcat_memory import HybridContextualMemoryProcessor

logger.remove()
logger.add(sys.stderr, level="WARNING")


async def main():
    memory = HybridContextualMemoryProcessor(user_id="anna")  # the one line

    # Stays the same during a session, so it costs nothing per turn.
    known = await memory.session_context()

    llm = OpenAILLMService(
        api_key="none",
        base_url=os.getenv("LLM_URL", "http://localhost:11434/v1"),
        settings=OpenAILLMService.Settings(
            model=os.getenv("LLM_MODEL", "llama3.2"),
            system_instruction=f"You are a friendly assistant. Answer briefly.\n\n{known}",
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
        print(message.content)
        answered.set()

    async def read_lines():
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip():
                answered.clear()
                message = {"role": "user", "content": line.strip()}
                await worker.queue_frame(LLMMessagesAppendFrame(messages=[message], run_llm=True))
                await answered.wait()
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner()
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), read_lines())


if __name__ == "__main__":
    asyncio.run(main())
