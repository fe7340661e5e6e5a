"""A voice and an ear that need nothing but packages: espeak-ng speaks, pocketsphinx listens.

Both are local and small, and neither downloads anything. The ear understands the sentences of a
grammar, which is all that a test says.
"""

import asyncio
import ctypes
import io
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from functools import cache

import espeakng_loader
import numpy as np
import soxr
from pipecat.frames.frames import Frame, TranscriptionFrame
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.utils.time import time_now_iso8601
from pocketsphinx import Decoder

RATE = 16000
_RETRIEVE = 1  # espeak's AUDIO_OUTPUT_RETRIEVAL: samples to a callback, none to a device
_SPEED = 1  # espeak's parameter for words per minute
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


@cache
def _espeak() -> tuple[ctypes.CDLL, int]:
    library = ctypes.cdll.LoadLibrary(espeakng_loader.get_library_path())
    data = str(espeakng_loader.get_data_path()).encode()
    rate = library.espeak_Initialize(_RETRIEVE, 0, data, 0)
    if rate <= 0:
        raise OSError(f"espeak-ng does not start: {rate}")
    return library, rate


def spoken(text: str, words_per_minute: int = 140, voice: str = "en-us") -> bytes:
    """Speak a text: 16-bit mono samples at `RATE`."""
    library, rate = _espeak()
    samples = bytearray()

    @_CALLBACK
    def keep(wave_: "ctypes._Pointer[ctypes.c_short]", count: int, _: int | None) -> int:
        if wave_ and count > 0:
            samples.extend(ctypes.string_at(wave_, count * 2))
        return 0

    library.espeak_SetSynthCallback(keep)
    library.espeak_SetVoiceByName(voice.encode())
    library.espeak_SetParameter(_SPEED, words_per_minute, 0)
    words = text.encode() + b"\0"
    library.espeak_Synth(words, len(words), 0, 0, 0, 1, None, None)  # 1: the text is UTF-8
    library.espeak_Synchronize()
    heard = soxr.resample(np.frombuffer(bytes(samples), np.int16), rate, RATE)
    return heard.astype(np.int16).tobytes()


class EspeakVoice(TTSService):
    """The agent's voice."""

    def __init__(self) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            stop_frame_timeout_s=0.3,
            sample_rate=RATE,
            settings=TTSSettings(model=None, voice="en-us", language=None),
        )

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        samples = await asyncio.to_thread(spoken, text, 220)

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(samples), 8000):
                yield samples[start : start + 8000]

        async for frame in self._stream_audio_frames_from_iterator(
            pieces(), in_sample_rate=RATE, context_id=context_id
        ):
            yield frame


class SphinxEar(SegmentedSTTService):
    """The agent's ear: it knows these sentences and no others."""

    def __init__(self, sentences: Iterable[str], speaker: str) -> None:
        super().__init__(
            sample_rate=RATE,
            settings=STTSettings(model="en-us", language=None),
            ttfs_p99_latency=0.8,
        )
        choices = " | ".join(sentences)
        self._decoder = Decoder(samprate=RATE, loglevel="FATAL")
        self._decoder.add_jsgf_string("g", f"#JSGF V1.0; grammar g; public <s> = {choices};")
        self._decoder.activate_search("g")
        self._speaker = speaker

    def _decode(self, audio: bytes) -> str:
        if audio.startswith(b"RIFF"):
            with wave.open(io.BytesIO(audio)) as container:
                audio = container.readframes(container.getnframes())
        self._decoder.start_utt()
        self._decoder.process_raw(audio, full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return found.hypstr if found else ""

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        text = await asyncio.to_thread(self._decode, audio)
        if text.strip():
            yield TranscriptionFrame(text, self._speaker, time_now_iso8601())
