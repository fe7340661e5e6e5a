"""What was heard of a turn, and how the turn is divided among its speakers."""

import pytest

from slowcat_memory.runtime.conversation.transcripts import Transcripts, Voice
from tests.support.rows import each_row, listed

ANNA, BEN, EVE = Voice("anna", "Anna"), Voice("ben", "Ben"), Voice("anna", "Eve")


def heard(*said: tuple[Voice, str], off: int = 0) -> Transcripts:
    transcripts = Transcripts()
    for n, (voice, words) in enumerate(said):
        transcripts.add(voice, words, off_record=n < off)
    return transcripts


def words(transcripts: Transcripts, text: str, channel=None) -> list[str]:
    return [one.words for one in transcripts.of_turn(text, channel)]


@pytest.mark.parametrize(
    ("text", "channel", "found"),
    [
        ("Good morning all", None, ["good morning", "all"]),
        ("Good morning, everybody", None, ["good morning", "psst", "all"]),  # rewritten
        ("something else", None, []),
        ("something else", "voice", ["good morning", "psst", "all"]),
        ("Good morning all", "text", []),
    ],
)
def test_transcripts_of_turn_finds_what_is_in_the_words(text, channel, found):
    transcripts = heard((ANNA, "good morning"), (BEN, "psst"), (ANNA, "all"))
    assert words(transcripts, text, channel) == found


def test_transcripts_of_turn_asks_for_what_was_off_the_record_only_where_the_rest_does_not_cover_it():
    transcripts = heard((ANNA, "the secret is"), (ANNA, "never mind"), off=1)
    assert words(transcripts, "never mind") == ["never mind"]
    assert words(transcripts, "the secret is never mind") == ["the secret is", "never mind"]


@each_row(
    ("muted", "text"),
    listed(
        "rules/transcripts",
        "transcripts_of_turn_word_of_another_that_is_not_the_turns_changes_no_speaker",
    ),
)
def test_transcripts_of_turn_word_of_another_that_is_not_the_turns_changes_no_speaker(muted, text):
    transcripts = heard((BEN, muted), (ANNA, text))
    assert [one.voice for one in transcripts.of_turn(text, None)] == [ANNA]
    transcripts.discard(transcripts.of_turn(text, None))
    assert not transcripts._waiting


def test_transcripts_of_turn_next_turn_that_was_already_heard_waits():
    transcripts = Transcripts()
    for voice in (ANNA, BEN):
        transcripts.add(voice, "yes", begins=True)
    for voice in (ANNA, BEN):
        found = transcripts.of_turn("yes", None)
        assert [one.voice for one in found] == [voice]
        transcripts.discard(found)


def test_transcripts_of_turn_predicted_words_have_a_speaker_until_they_are_final():
    transcripts = Transcripts()
    transcripts.expect(BEN, "what time is it")
    assert transcripts.of_turn("what time is it", "voice") == []
    (found,) = transcripts.of_turn("what time is it", "voice", predicted=True)
    assert found.voice == BEN
    transcripts.add(ANNA, "what time is it")
    (found,) = transcripts.of_turn("what time is it", "voice", predicted=True)
    assert found.voice == ANNA
