"""Several speakers in one conversation."""

from pipecat.frames.frames import (
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.time import time_now_iso8601

from tests.support.processors import (
    contents,
    memory,
    session_turns,
)
from tests.support.voice_pipeline import VoicePipeline, run


def test_speakers_several_people_in_one_turn_become_a_turn_each(engine, config):
    async def scenario():
        processor = memory(config, engine=engine, speaker_names={"s1": "Anna"})
        async with VoicePipeline(memory=processor, speech_timeout_s=0.1) as voice:
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            for speaker, words in (("s1", "I like tea."), ("s1", "Green tea."), ("ben", "Me too!")):
                frame = TranscriptionFrame(words, speaker, time_now_iso8601())
                await voice.worker.queue_frame(frame)
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.answer()
            await voice.exchange("who likes green tea", user_id="s1")
            return voice

    voice = run(scenario())
    anna, ben, answer, *_ = session_turns(engine)
    assert (anna.speaker, anna.text) == ("Anna", "I like tea. Green tea.")
    assert (ben.speaker, ben.text) == ("ben", "Me too!")
    assert answer.reply_to == ben.id
    # All of it is still visible, in the words of both: nothing of it is offered again.
    assert "I like tea" not in contents(voice.server.requests[1])[-1]
