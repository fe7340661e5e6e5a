"""Several speakers in one conversation."""

from pipecat.frames.frames import (
    TranscriptionFrame,
    UserMuteStartedFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.utils.time import time_now_iso8601

from tests.support.processors import (
    Mark,
    aggregators,
    contents,
    logged_words,
    memory,
    saw,
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


def test_speakers_people_who_take_turns_are_told_apart(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            for speaker in ("anna", "ben", "", "anna"):
                await voice.exchange(f"good day from {speaker}", user_id=speaker)

    run(scenario())
    assert [name for name, _ in logged_words(engine) if name != "Assistant"] == [
        "anna",
        "ben",
        "User",
        "anna",
    ]


def test_speakers_muted_speech_is_nobodys_turn(engine, config):
    class Mute(BaseUserMuteStrategy):
        on = True

        async def process_frame(self, frame):
            await super().process_frame(frame)
            return self.on

    async def scenario():
        mute = Mute()
        voice = VoicePipeline(memory=memory(config, engine=engine))
        voice.aggregators = aggregators(voice.context, user_mute_strategies=[mute])
        async with voice:
            saw(voice, UserMuteStartedFrame)
            await voice.worker.queue_frame(Mark())
            await voice.until(lambda: saw(voice, UserMuteStartedFrame))
            muted = TranscriptionFrame("psst", "ben", time_now_iso8601())
            await voice.worker.queue_frame(muted)
            await voice.worker.queue_frame(Mark())
            await voice.until(lambda: saw(voice, Mark))
            mute.on = False
            await voice.worker.queue_frame(Mark())
            await voice.exchange("good morning", user_id="anna")

    run(scenario())
    assert logged_words(engine)[-2] == ("anna", "good morning")
