"""Transcripts in and out: what is read, what is refused, and that nothing is logged twice."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.text.normalize import KEEP_CHARS, clean
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Forget, SessionEdge, Turn
from slowcat_memory.testing import memory_config
from slowcat_memory.transfer.formats.rows import export
from slowcat_memory.transfer.import_ import Imported, Where, import_reading, ingest
from slowcat_memory.transfer.reading import FileReadings, Options
from slowcat_memory.transfer.transcript import Transcript, TranscriptSession, Utterance
from tests.harness import import_trips
from tests.harness.import_trips import import_file
from tests.support.memories import Look, engine_remembering
from tests.support.rows import listed, listed_texts

MAY = datetime(2024, 5, 12, 18, 30, tzinfo=UTC)


engine = engine_remembering({})


def written(folder: Path, text: str, name: str = "chat.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lines(folder: Path, *rows: Any, name: str = "chat.jsonl") -> Path:
    return written(folder, "".join(json.dumps(row) + "\n" for row in rows), name)


def read(path: Path) -> tuple[list[Transcript], list[str]]:
    faults, chats = list[TranscriptError](), list[Transcript]()
    for reading in FileReadings(path, Options(), faults.append, lambda error: None):
        faults += reading.faults
        chats += reading.transcripts()
    return chats, [fault.message for fault in faults]


def said(transcript: Transcript) -> list[list[str]]:
    return [[u.text for u in session.utterances] for session in transcript.sessions]


def logged(engine: MemoryEngine, scope: str = "user") -> list[Turn]:
    engine.store.flush()
    return Look(engine).turns(scope)


def imported(engine: MemoryEngine, path: Path, **options: Any) -> Imported:
    return import_file(engine, path, on_error=lambda error: None, **options)


# ------------------------------------------------------------------- plain text


def test_replay_plain_text_has_names_sessions_times_and_long_turns(tmp_path):
    path = written(
        tmp_path,
        "# 2024-05-12 18:30\nAnna: My dog is called Max.\nAssistant: What a name!\n"
        "[2024-05-12 18:31] Anna: He was\n\na present: from my aunt.\n\n\nAnna Lee: Later.\n",
    )
    [transcript], faults = read(path)
    assert faults == []
    assert said(transcript) == [
        ["My dog is called Max.", "What a name!", "He was\na present: from my aunt."],
        ["Later."],
    ]
    first, second = transcript.sessions
    assert first.started == datetime(2024, 5, 12, 18, 30)
    assert [u.role for u in first.utterances] == ["user", "assistant", "user"]
    assert first.utterances[2].at == datetime(2024, 5, 12, 18, 31)
    assert [u.origin for u in first.utterances] == ["2", "3", "4"]
    assert second.utterances[0].speaker == "Anna Lee"
    assert second.started and second.started > datetime(2024, 5, 12, 18, 31)


def test_replay_plain_text_reports_what_has_no_speaker_and_what_says_nothing(tmp_path):
    path = written(tmp_path, "who says this\nAnna: hello\nBen:\n[noon] Ben: hm\n")
    [transcript], faults = read(path)
    assert said(transcript) == [["hello"]]
    assert faults == [
        'line 1: no speaker; a turn is "Name: text"',
        "line 3: the text is empty",
        "line 4: 'noon' is not a time such as 2024-05-12T18:30",
    ]


# ------------------------------------------------------------------- JSON lines


def test_replay_json_lines_keep_all_they_say(tmp_path):
    path = lines(
        tmp_path,
        {"text": "one", "speaker": "Anna", "at": "2024-05-12T18:30+02:00", "id": 7, "session": "x"},
        {"content": "two", "role": "Assistant", "session": "x"},
        {"text": "three", "speaker": "Bot", "session": "y", "channel": "voice", "tools": ["clock"]},
        {"text": "four", "speaker": "Anna", "session": "x", "interrupted": True},
    )
    [transcript], faults = read(path)
    assert faults == []
    assert said(transcript) == [["one", "two", "four"], ["three"]]
    one, two, four = transcript.sessions[0].utterances
    assert one.at == datetime(2024, 5, 12, 18, 30, tzinfo=one.at and one.at.tzinfo)
    assert (one.origin, two.origin, four.origin) == ("7", "2", "4")
    assert (one.role, two.role, four.role) == ("user", "assistant", "user")
    assert four.interrupted
    three = transcript.sessions[1].utterances[0]
    assert (three.role, three.channel, three.tools) == ("assistant", "voice", ("clock",))


BAD_LINES = [*listed("bad_transcript_lines"), ("[" * 100_000, "recursion")]


@pytest.mark.parametrize(("bad", "reason"), BAD_LINES)
def test_replay_a_bad_line_is_named_and_the_rest_is_read(tmp_path, bad, reason):
    path = written(tmp_path, f'{{"text": "before"}}\n{bad}\n\n{{"text": "after"}}\n', "c.jsonl")
    [transcript], [fault] = read(path)
    assert said(transcript) == [["before", "after"]]
    assert fault.startswith("line 2: ") and reason in fault


def test_replay_a_line_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Anna: café\n".encode("latin-1") + "Anna: thé\n".encode())
    [transcript], faults = read(path)
    assert (said(transcript), faults) == ([["thé"]], ["line 1: not UTF-8"])
    path.write_bytes("Anna: café\nAnna: tea\n".encode("latin-1"))
    with pytest.raises(TranscriptError, match="by line 1 it is Latin-1"):
        read(path)


@given(st.lists(st.text(max_size=40) | st.binary(max_size=40), max_size=8), st.booleans())
@settings(max_examples=60, deadline=None)
def test_replay_no_text_whatever_breaks_the_reader(tmp_path_factory, parts, json_):
    path = tmp_path_factory.mktemp("any") / ("x.jsonl" if json_ else "x.txt")
    raw = [p if isinstance(p, bytes) else p.encode("utf-8", "replace") for p in parts]
    path.write_bytes(b'{"text": "x"}\n' * json_ + b"\n".join(raw))
    try:
        transcripts, _ = read(path)
    except TranscriptError:
        return
    for transcript in transcripts:
        assert all(clean(text)[0] == text != "" for texts in said(transcript) for text in texts)


# ------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b" \n\n", "is empty"), (bytes(range(256)) * 9, "is not a text file")]
    + [(b"\x1f\x8bnonsense", "is not a text file")],
)
def test_replay_a_file_without_text_is_refused(tmp_path, content, reason):
    path = tmp_path / "chat.txt"
    path.write_bytes(content)
    with pytest.raises(TranscriptError, match=reason):
        read(path)


# ------------------------------------------------------------------- into the log


def test_replay_ingest_logs_start_turns_and_end_in_order(engine):
    utterances = [("Anna", "user"), ("", "assistant"), ("", "assistant"), ("Ben", "user")]
    session = TranscriptSession(
        id="s",
        started=MAY,
        utterances=[
            Utterance(speaker=who, role=role, text=f"text {i}", origin=f"o{i}")  # type: ignore[arg-type]
            for i, (who, role) in enumerate(utterances)
        ],
    )
    ids = ingest(engine, "duo", session)
    start, one, two, three, four, end = Look(engine).events("duo")
    assert ids == [one.id, two.id, three.id, four.id]
    assert isinstance(start, SessionEdge) and start.kind == "start" and start.at == MAY
    assert isinstance(end, SessionEdge) and (end.kind, end.reason) == ("end", "import")
    turns = logged(engine, "duo")
    assert turns == [one, two, three, four]
    assert [t.speaker for t in turns] == ["Anna", "Assistant", "Assistant", "Ben"]
    assert [t.reply_to for t in turns] == [0, turns[0].id, turns[0].id, 0]
    assert [t.at - MAY for t in turns] == [timedelta(seconds=10 * i) for i in range(4)]
    assert {t.channel for t in turns} == {"text"}
    assert ingest(engine, "duo", session) == []
    session.utterances.append(Utterance(speaker="", role="assistant", text="answer"))
    assert ingest(engine, "duo", session) and logged(engine, "duo")[-1].reply_to == four.id
    assert engine.search("text 2", "duo", 1).hits[0].memory.sources == (turns[2].id,)


def test_replay_what_was_forgotten_stays_forgotten_until_asked_for(engine, tmp_path):
    path = written(tmp_path, "A: one\nA: secret\nA: three\n\n\nA: gone\n")
    imported(engine, path)
    turns = logged(engine)
    engine.forget(Forget(turns=(turns[1].id,)))
    engine.forget(Forget(session=turns[3].session))
    assert imported(engine, path).turns == 0
    path.write_text(path.read_text() + "A: more\n")
    again = imported(engine, path, again=True)
    assert [t.text for t in logged(engine)] == ["one", "three", "gone", "more"]
    assert again.turns == 2


def test_replay_odd_utterances_are_kept_as_far_as_they_can_be(engine, tmp_path):
    odd = ["a" * 1_000_000, "n\0ul", "lone \ud800 half", "bidi \u202e\u2066x", "bell \x07\x1b[31m"]
    imported(engine, lines(tmp_path, *({"text": text} for text in (*odd, "<|im_start|>system"))))
    big, *rest = logged(engine)
    assert (len(big.text), big.cut) == (KEEP_CHARS, 1_000_000 - KEEP_CHARS)
    assert [t.text for t in rest] == [
        "nul",
        "lone \ufffd half",
        "bidi x",
        "bell [31m",
        "<|im_start|>system",
    ]


# ------------------------------------------------------------------- out of the log


def exported(engine: MemoryEngine) -> list[dict[str, Any]]:
    engine.store.flush()
    return list(export(engine.store.snapshot))


def test_replay_export_and_import_are_inverse(engine, tmp_path):
    path = lines(
        tmp_path,
        {"text": "hello", "speaker": "Anna", "at": "2024-05-12T18:30Z", "session": "a"},
        {"text": "stop", "role": "assistant", "session": "a", "interrupted": True, "tools": ["t"]},
        {"text": "spoken", "speaker": "Anna", "session": "b", "channel": "voice", "cut": 3},
    )
    imported(engine, path, scope="anna")
    imported(engine, path, scope="ben")
    engine.remember("allergic to nuts", "anna", pinned=True, at=MAY)
    engine.edit("anna", f"chunk/{logged(engine, 'anna')[0].id}", pinned=True)
    before = exported(engine)
    assert len(before) == 7 and before[0]["pinned"] and before[3]["note"] == "allergic to nuts"

    copy = MemoryEngine(memory_config(tmp_path / "copy"))
    file = lines(tmp_path, *before, name="export.jsonl")
    done = imported(copy, file)
    after = exported(copy)
    imported(copy, file)
    assert exported(copy) == after
    copy.close()

    def anonymous(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{k: v for k, v in row.items() if k != "id"} for row in rows]

    assert (done.turns, done.notes, done.scopes) == (6, 1, {"anna", "ben"})
    assert anonymous(after) == anonymous(before)
    assert imported(engine, file).turns == 0  # sessions keep their ids: it is all there already


# ------------------------------------------------------------------- nothing is lost or doubled


def test_a_file_is_known_again_when_somebody_says_who_the_user_is(engine, tmp_path):
    path = written(tmp_path, "Luna: Hello.\nanna: My dog is called Max.\n")
    for me in ("", "Anna"):
        (reading,) = FileReadings(path, Options(me=me), pytest.fail, pytest.fail)
        done = Imported()
        import_reading(engine, reading, Where(), done, on_error=pytest.fail)
    assert (done.turns, done.known_turns) == (0, 2)


def test_marks_are_made_after_an_import_that_was_killed_before(engine, tmp_path, monkeypatch):
    path = lines(tmp_path, {"text": "My PIN is 4711", "pinned": True}, {"text": "I like tea"})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(engine, "edit", lambda *args, **how: (_ for _ in ()).throw(KeyboardInterrupt))
        imported(engine, path)
    imported(engine, path)
    look = Look(engine)
    marks = [look.read("user", f"chunk/{turn.id}").pinned for turn in look.turns("user")]
    assert marks == [True, False]


@pytest.mark.parametrize("bad", listed_texts("bad_import_lines"))
def test_one_bad_line_is_named_and_the_rest_comes_in(engine, tmp_path, bad):
    path = written(tmp_path, f'{{"text": "before"}}\n{bad}\n{{"text": "after"}}\n', "c.jsonl")
    faults = list[str]()
    import_file(engine, path, on_error=lambda error: faults.append(error.message))
    assert len(faults) == 1 and faults[0].startswith("line 2: ")
    assert [turn.text for turn in logged(engine)] == ["before", "after"]


def test_random_transcripts_lose_double_leak_and_revive_nothing(tmp_path):
    assert import_trips.run(tmp_path, 8, 3, "", kills=False)["faults"] == []
    # Two people say one word in one second, in two sessions.
    assert import_trips.play(tmp_path, 100_059, kills=False) == []


@pytest.mark.parametrize("control", ["name", "forgotten"])
def test_random_transcripts_show_a_planted_fault(tmp_path, control):
    assert import_trips.run(tmp_path, 2, 3, control, kills=False)["faults"]
