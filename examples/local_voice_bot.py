#
# Copyright (c) 2026, the slowcat-memory authors
#
# SPDX-License-Identifier: BSD-2-Clause
#
"""A voice bot that runs on this machine alone, and remembers: Whisper, a local LLM, Piper.

    pip install "pipecat-slowcat-memory[offline]" "pipecat-ai[local,silero,whisper,piper]"
    brew install portaudio              # or: apt install portaudio19-dev
    lms server start                    # LM Studio with a model loaded; or Ollama, see below
    python examples/local_voice_bot.py  # Ctrl-C ends it

Use headphones: the bot hears what its loudspeaker says. The first start downloads the models of
Whisper and Piper. For Ollama: LLM_URL=http://localhost:11434/v1 LLM_MODEL=llama3.2. Another voice:
Kokoro, with ``pipecat-ai[kokoro]`` and the two lines marked below.
"""

import asyncio
import os
import sys

from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.openai.llm import OpenAILLMService

# from pipecat.services.kokoro.tts import KokoroTTSService
from pipecat.services.piper.tts import PiperTTSService
from pipecat.services.whisper.stt import Model, WhisperSTTService
from pipecat.transports.local.audio import LocalAudioTransport, LocalAudioTransportParams
from pipecat.workers.runner import WorkerRunner

from slowcat_memory import HybridContextualMemoryProcessor

logger.remove()
logger.add(sys.stderr, level="INFO")

INSTRUCTION = (
    "You are a friendly assistant in a voice conversation. Your words are spoken aloud: no lists, "
    "no emojis, no markup. Answer in one or two short sentences."
)


async def main():
    transport = LocalAudioTransport(
        LocalAudioTransportParams(audio_in_enabled=True, audio_out_enabled=True)
    )

    stt = WhisperSTTService(settings=WhisperSTTService.Settings(model=Model.DISTIL_MEDIUM_EN))

    # The store is opened here, once; it keeps what is said in ~/.slowcat, under this user's name.
    llm_url = os.getenv("LLM_URL", "http://localhost:1234/v1")
    # While nobody speaks, the same LLM thinks about what was said; it is hung up on a voice.
    memory = HybridContextualMemoryProcessor(
        user_id=os.getenv("USER_ID", "user"), context_llm_endpoint=llm_url
    )

    # When you last talked, and what the user asked to keep in mind: it stays the same during the
    # session, so the LLM reads it once, and its prompt cache stays whole.
    known = await memory.session_context()

    llm = OpenAILLMService(
        api_key="none",
        base_url=llm_url,
        settings=OpenAILLMService.Settings(
            model=os.getenv("LLM_MODEL", "qwen3-4b"),
            system_instruction=f"{INSTRUCTION}\n\n{known}",
        ),
    )

    tts = PiperTTSService(settings=PiperTTSService.Settings(voice="en_US-ryan-high"))
    # tts = KokoroTTSService(settings=KokoroTTSService.Settings(voice="af_heart"))

    user_aggregator, assistant_aggregator = LLMContextAggregatorPair(
        LLMContext(),
        user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer()),
    )

    pipeline = Pipeline(
        [
            transport.input(),
            stt,
            user_aggregator,
            memory,  # between the user aggregator and the LLM: it wires itself
            llm,
            tts,
            transport.output(),
            assistant_aggregator,
        ]
    )

    @memory.event_handler("on_memory_recalled")
    async def on_memory_recalled(processor, found, packed):
        ms = found.timings["wait"]
        logger.info(f"{len(packed.hits)} memories, {packed.tokens} tokens, {ms:.1f} ms")

    worker = PipelineWorker(
        pipeline,
        params=PipelineParams(enable_metrics=True),
        # A bot on a desk is silent for hours: it must neither end after Pipecat's five minutes nor
        # lose the quiet time in which memory tidies up.
        cancel_on_idle_timeout=False,
    )

    # Not through the LLM, and not into its context: some models refuse to begin a conversation.
    await worker.queue_frame(TTSSpeakFrame("Hello, I am listening.", append_to_context=False))

    runner = WorkerRunner()
    await runner.add_workers(worker)
    await runner.run()


if __name__ == "__main__":
    asyncio.run(main())
