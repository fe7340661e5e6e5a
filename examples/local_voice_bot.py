#
# Copyright (c) 2026, the slowcat-memory authors
#
# SPDX-License-Identifier: BSD-2-Clause
#
"""A voice bot with a memory that runs entirely on this machine: Whisper, a local LLM, Piper.

    pip install . && pip install --no-deps --require-hashes -r offline.txt
    pip install "pipecat-ai[local,silero,whisper,piper]"
    brew install portaudio              # or: apt install portaudio19-dev
    lms server start                    # LM Studio with a model loaded; or Ollama, see below
    python examples/local_voice_bot.py  # Ctrl-C ends it

Use headphones, or the bot hears itself. The first start downloads the models of Whisper and Piper. For Ollama: LLM_URL=http://localhost:11434/v1 LLM_MODEL=llama3.2. Another voice:
Kokoro, with ``pipecat-ai[kokoro]`` and the two lines marked below.
"""

import asyncio
import os
import sys

from loguru import logger
from pipecat.frames.frames import TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.workers.runner import WorkerRunner

from slowcat_memory import HybridContextualMemoryProcessor

try:
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    # from pipecat.services.kokoro.tts import KokoroTTSService
    from pipecat.services.piper.tts import PiperTTSService
    from pipecat.services.whisper.stt import Model, WhisperSTTService
    from pipecat.transports.local.audio import LocalAudioTransport, LocalAudioTransportParams
except Exception as error:  # Pipecat raises a plain one where an extra is missing
    sys.exit(
        f"An extra of Pipecat is missing ({error}). Install them all:\n"
        '    pip install "pipecat-ai[local,silero,whisper,piper]"\n'
        "and PortAudio: brew install portaudio, or apt install portaudio19-dev"
    )

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

    # Opens the store in ~/.slowcat; everything is stored under this user's name.
    llm_url = os.getenv("LLM_URL", "http://localhost:1234/v1")
    # While nobody speaks, the same LLM does the idle work; a voice cancels its request.
    memory = HybridContextualMemoryProcessor(
        user_id=os.getenv("USER_ID", "user"), context_llm_endpoint=llm_url
    )

    llm = OpenAILLMService(
        api_key="none",
        base_url=llm_url,
        settings=OpenAILLMService.Settings(
            model=os.getenv("LLM_MODEL", "qwen3-4b"),
            system_instruction=INSTRUCTION,
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
            memory,  # between the user aggregator and the LLM
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
        # Pipecat ends a pipeline after five silent minutes; this bot waits for hours and uses them for
        # idle work.
        cancel_on_idle_timeout=False,
    )

    # Spoken directly, not added to the context: some models refuse a conversation that they begin.
    await worker.queue_frame(TTSSpeakFrame("Hello, I am listening.", append_to_context=False))

    runner = WorkerRunner()
    await runner.add_workers(worker)
    await runner.run()


if __name__ == "__main__":
    asyncio.run(main())
