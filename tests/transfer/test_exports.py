"""Exports of apps: recognised by what is in them, read right, or refused by name."""

import hashlib
import itertools
import json
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer import reading as reading_
from slowcat_memory.transfer.reading import FileReading, FileReadings, Options
from slowcat_memory.transfer.transcript import Note, TranscriptSession, Utterance
from tests.support.rows import cases
from tests.transfer.exports import DOG, EXPORTS, GOOD, REFUSED, Export, content_of

CLAUDE = json.loads(content_of("claude.json"))
Read = tuple[FileReading, list[TranscriptSession], list[Note]]


def read(path: Path, **options: Any) -> tuple[list[Read], list[str], list[str]]:
    """Read all files of a path; return them with the faults, and with what lies beside them."""
    faults, beside, found = list[TranscriptError](), list[TranscriptError](), list[Read]()
    for reading in FileReadings(path, Options(**options), faults.append, beside.append):
        faults.extend(reading.faults)
        chats = list(reading.transcripts())
        sessions = [session for chat in chats for session in chat.sessions]
        found.append((reading, sessions, [note for chat in chats for note in chat.notes]))
    return found, [str(one) for one in faults], [str(one) for one in beside]


def turns(sessions: list[TranscriptSession]) -> list[Utterance]:
    return list(itertools.chain.from_iterable(one.utterances for one in sessions))


def said(sessions: list[TranscriptSession]) -> list[tuple[str, str, str]]:
    return [(one.speaker, one.role[0], one.text) for one in turns(sessions)]


def written(tmp_path: Path, content: str | bytes, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def one(tmp_path: Path, content: str | bytes, **options: Any) -> tuple[Any, list[str]]:
    [(_, sessions, _)], faults, _ = read(written(tmp_path, content), **options)
    return sessions, faults


# ------------------------------------------------------------------- the table


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_each_is_recognised_by_content_and_read_right(tmp_path: Path, name: str) -> None:
    export: Export = EXPORTS[name]
    [(reading, sessions, notes)], faults, beside = read(written(tmp_path, content_of(name)))
    assert (reading.format.name, faults, beside) == (export.format, [], [])
    assert said(sessions) == export.said
    assert tuple(note.text for note in notes) == export.notes
    assert len(sessions) == reading.sessions == export.sessions
    assert reading.turns == len(export.said) and reading.notes == len(export.notes)
    assert sum(reading.skipped.values()) == export.skipped
    first = turns(sessions)[0].at if sessions else None
    assert (first.isoformat() if first else "") == export.first


@pytest.mark.parametrize("name", REFUSED)
def test_exports_what_is_not_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(TranscriptError, match=REFUSED[name]):
        read(written(tmp_path, content_of(name), name))


def test_exports_an_odd_conversation_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    first, second = CLAUDE[0], {"uuid": "c2", "chat_messages": [7]}
    sessions, [fault] = one(tmp_path, json.dumps([first, second, first | {"uuid": "c3"}]))
    assert len(sessions) == 2 and fault.startswith("conversation 2: ")


# ------------------------------------------------------------------- dates


@cases("transfer/exports.jsonl")
def test_exports_whatsapp_the_file_decides_whether_the_day_comes_first(tmp_path, dates, read_as):
    if dates[0].startswith("24/"):
        dates = tuple(f"20{date}" for date in dates)
    content = "".join(f"{date}, 18:30 - Anna: {DOG}\n" for date in dates)
    sessions, faults = one(tmp_path, content)
    assert f"{turns(sessions)[0].at:%Y-%m-%d}" == read_as and not faults


def test_exports_whatsapp_a_date_that_cannot_be_is_named(tmp_path: Path) -> None:
    content = f"31/02/24, 18:30 - Anna: {DOG}\n01/03/24, 18:30 - Ben: {GOOD}\n"
    sessions, [fault] = one(tmp_path, content)
    assert fault.startswith("line 1: '2024-02-31T18:30:00' is not a time")
    assert said(sessions) == [("Ben", "u", GOOD)]


def test_exports_a_date_on_its_own_line_belongs_to_what_follows(tmp_path: Path) -> None:
    sessions, _ = one(tmp_path, f"Anna: {DOG}\nBot: Noted.\n2026-05-14 09:00\nAnna: {GOOD}\n")
    assert [text for _, _, text in said(sessions)] == [DOG, "Noted.", GOOD]
    assert f"{sessions[1].started:%Y-%m-%d %H:%M}" == "2026-05-14 09:00"
    assert sessions[0].started.replace(tzinfo=UTC) < datetime(2026, 5, 14, 9, tzinfo=UTC)


def test_exports_turns_later_than_allowed_are_named_and_left_out(tmp_path: Path) -> None:
    content = f"[2024-05-12 18:30] Anna: {DOG}\n[2024-05-13 18:30] Anna: {GOOD}\n"
    latest = datetime(2024, 5, 13, tzinfo=UTC)
    sessions, [fault] = one(tmp_path, content, latest=latest)
    assert "line 2: dated in the future: 2024-05-13" in fault and len(turns(sessions)) == 1


def test_exports_the_user_is_who_the_user_says(tmp_path: Path) -> None:
    content = f"Luna: {GOOD}\nanna: {DOG}\n"
    sessions, _ = one(tmp_path, content, me="Anna", agents=frozenset({"luna"}))
    assert said(sessions) == [("Luna", "a", GOOD), ("", "u", DOG)]


# ------------------------------------------------------------------- folders and archives


def archive(files: dict[str, bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zip_:
        for name, content in files.items():
            zip_.writestr(name, content)
    return made.getvalue()


def test_exports_an_archive_and_a_folder_are_read_file_by_file(tmp_path: Path) -> None:
    inner = archive(
        {"_chat.txt": content_of("whatsapp ios.txt"), "00001-PHOTO.jpg": b"\xff\xd8\xff\0\0"}
    )
    files = {
        "a/inner.zip": inner,
        "conversations.json": content_of("claude.json"),
        "users.json": b'[{"uuid": "1", "email_address": "a@example.org"}]',
        "chat.html": b"<html></html>",
        "feedback.json": b'[{"rating": 1}]',
        "empty.txt": b"",
        "__MACOSX/x.txt": b"\0\0",
        ".DS_Store": b"\0\0",
    }
    folder = tmp_path / "folder"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "link.txt").symlink_to(written(tmp_path, f"Anna: {DOG}", "outside.txt"))
    found, faults, beside = read(folder)
    whatsapp, claude = ("WhatsApp", 2), ("Claude", 2)
    assert [(one.format.name, one.turns) for one, *_ in found] == [whatsapp, claude]
    assert faults == [] and len(beside) == 5
    assert any("00001-PHOTO.jpg is not a text file" in line for line in beside)
    found, [fault], beside = read(written(tmp_path, archive(files), "all.zip"))
    assert [(one.format.name, one.turns) for one, *_ in found] == [claude]
    assert "a/inner.zip is an archive in an archive. Unpack it." in fault and len(beside) == 4


@pytest.mark.parametrize("at", [45, 60, 2_000, -400])
def test_exports_a_damaged_file_in_an_archive_is_reported_and_the_others_are_read(tmp_path, at):
    words = [hashlib.blake2b(b"%d" % n, digest_size=4).hexdigest() for n in range(2_000)]
    chat = "".join(f"Anna: the whale {word} came by.\n" for word in words).encode()
    packed = archive({"a.txt": chat})
    whole = bytearray(archive({"a.txt": chat, "b.txt": b"Anna: My dog is called Max.\n" * 3}))
    place = at if at > 0 else len(packed) + at
    whole[place : place + 8] = b"\xff" * 8
    found, faults, _ = read(written(tmp_path, bytes(whole)))
    assert faults
    assert DOG in [one.text for _, sessions, _ in found for one in turns(sessions)]


# ------------------------------------------------------------------- damage, and limits

TOO_MUCH = "file is more than 8 MB .* Import its files one by"
LONG_LINE = "Anna: " + "la " * 3_000_000
MANY = archive({f"{n}.txt": b"Anna: la\n" * 70_000 for n in range(15)})
VALUES = b'[{"mapping":[' + b"[]," * 6_000_000 + b"0]}]"


@pytest.mark.parametrize(
    ("content", "most", "reason"),
    [
        *(
            (content_of(name)[:-60], 10**8, "is damaged: .*Export it again")
            for name in ("telegram.json", "chatgpt.json", "mem0.json")
        ),
        (archive({"x.txt": b"Anna: hi" * 99})[:90], 10**8, "is damaged"),
        (LONG_LINE.encode(), 8_000_000, TOO_MUCH),
        (archive({"x.txt": LONG_LINE.encode("utf-16")}), 8_000_000, TOO_MUCH),
        (b'{"mapping":' + b" " * 9_000_000 + b"{}}", 8_000_000, TOO_MUCH),
        (MANY, 8_000_000, TOO_MUCH),
        (VALUES, 10**8, "is damaged: it has more than 5,000,000 values"),
    ],
    ids=map(str, count()),  # not by the content, in which an archive has the time
)
def test_exports_what_is_damaged_or_too_much_is_refused_with_the_remedy(
    tmp_path, monkeypatch, content, most, reason
):
    monkeypatch.setattr(reading_, "MOST_BYTES", most)
    with pytest.raises(TranscriptError, match=reason):
        read(written(tmp_path, content))
