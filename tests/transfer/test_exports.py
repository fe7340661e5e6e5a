"""Exports of apps: recognised by what is in them, read right, or refused by name."""

import hashlib
import itertools
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer import Note, TranscriptSession, Utterance
from slowcat_memory.transfer import sources as sources_
from slowcat_memory.transfer.files import readings
from slowcat_memory.transfer.formats.format import outline
from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.reading import Options
from slowcat_memory.transfer.survey import Survey, dated, survey
from tests.transfer.exports import DOG, EXPORTS, GOOD, REFUSED, Export, as_json, content_of

Read = tuple[Survey, list[TranscriptSession], list[Note]]


def read(path: Path, **options: Any) -> tuple[list[Read], list[str], list[str]]:
    """Read all files of a path; return them with the faults, and with what lies beside them."""
    faults, beside, found = list[TranscriptError](), list[TranscriptError](), list[Read]()
    for reading in readings(path, Options(**options), faults.append, beside.append):
        surveyed = survey(reading)
        faults.extend(surveyed.faults)
        every = [one.what for one in dated(reading, surveyed, None)]
        sessions = [one for one in every if isinstance(one, TranscriptSession)]
        notes = [one for one in every if isinstance(one, Note)]
        found.append((surveyed, sessions, notes))
    return found, [str(one) for one in faults], [str(one) for one in beside]


def turns(sessions: list[TranscriptSession]) -> list[Utterance]:
    return list(itertools.chain.from_iterable(one.utterances for one in sessions))


def said(sessions: list[TranscriptSession]) -> list[tuple[str, str, str]]:
    return [(one.speaker, one.role[0], one.text) for one in turns(sessions)]


def written(tmp_path: Path, content: str | bytes, name: str = "file") -> Path:
    path = tmp_path / name
    path.write_bytes(content_of(content))
    return path


def one(tmp_path: Path, content: str | bytes, **options: Any) -> tuple[Any, list[str]]:
    [(_, sessions, _)], faults, _ = read(written(tmp_path, content), **options)
    return sessions, faults


# ------------------------------------------------------------------- the table


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_each_is_recognised_by_content_and_read_right(tmp_path: Path, name: str) -> None:
    export: Export = EXPORTS[name]
    [(surveyed, sessions, notes)], faults, beside = read(written(tmp_path, export.content))
    assert (surveyed.format, faults, beside) == (export.format, [], [])
    assert said(sessions) == export.said
    assert tuple(note.text for note in notes) == export.notes
    assert len(sessions) == surveyed.sessions == export.sessions
    assert surveyed.turns == len(export.said) and surveyed.notes == len(export.notes)
    assert sum(surveyed.skipped.values()) == export.skipped
    first = turns(sessions)[0].at if sessions else None
    assert (first.isoformat() if first else "") == export.first


@pytest.mark.parametrize("name", REFUSED)
def test_exports_what_is_not_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    content, reason = REFUSED[name]
    with pytest.raises(TranscriptError, match=reason):
        read(written(tmp_path, content, name))


@pytest.mark.parametrize(
    ("name", "cut"),
    [("telegram.json", 60), ("chatgpt.json", 60), ("mem0.json", 20), ("own.jsonl", 5)],
)
def test_exports_of_one_that_is_cut_off_the_beginning_is_read(
    tmp_path: Path, name: str, cut: int
) -> None:
    content = content_of(EXPORTS[name].content)
    [(surveyed, sessions, notes)], faults, _ = read(written(tmp_path, content[:-cut]))
    assert surveyed.unreadable == len(faults) == 1
    whole = EXPORTS[name]
    assert [text for _, _, text in said(sessions)] == [s[2] for s in whole.said][
        : len(turns(sessions))
    ]
    assert 0 <= surveyed.turns + len(notes) < len(whole.said) + len(whole.notes)


# ------------------------------------------------------------------- dates


@pytest.mark.parametrize(
    ("dates", "read_as"),
    [
        (("01/02/24", "02/02/24", "03/02/24"), "2024-02-01"),  # the days follow each other
        (("01/02/24", "01/03/24", "01/04/24"), "2024-01-02"),  # so they do with the month first
        (("03/04/24", "04/25/24"), "2024-03-04"),
        (("03/04/24", "25/04/24"), "2024-04-03"),
        (("03/04/24",), "2024-04-03"),
        (("24/3/4", "24/3/25"), "2024-03-04"),
    ],
)
def test_exports_whatsapp_the_file_decides_whether_the_day_comes_first(
    tmp_path: Path, dates: tuple[str, ...], read_as: str
) -> None:
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
    assert [turn.who() for turn in turns(sessions)] == [("user", "Luna"), ("user", "anna")]


# ------------------------------------------------------------------- encodings


def test_exports_an_encoding_may_be_named(tmp_path: Path) -> None:
    sessions, faults = one(tmp_path, REFUSED["latin.txt"][0], encoding="cp1252")
    assert [text for _, _, text in said(sessions)] == ["Käse", "Süß"] and not faults


def test_exports_one_wrong_line_among_others_is_named(tmp_path: Path) -> None:
    sessions, faults = one(tmp_path, b"Anna: caf\xe9\nAnna: th\xc3\xa9\n")
    assert [text for _, _, text in said(sessions)] == ["thé"] and faults == ["line 1: not UTF-8"]


# ------------------------------------------------------------------- folders and archives


def archive(files: dict[str, bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zip_:
        for name, content in files.items():
            zip_.writestr(name, content)
    return made.getvalue()


WHATSAPP = content_of(EXPORTS["whatsapp ios.txt"].content)


def test_exports_an_archive_and_a_folder_are_read_file_by_file(tmp_path: Path) -> None:
    inner = archive({"_chat.txt": WHATSAPP, "00001-PHOTO.jpg": b"\xff\xd8\xff\0\0"})
    files = {
        "a/inner.zip": inner,
        "conversations.json": content_of(EXPORTS["claude.json"].content),
        "users.json": as_json([{"uuid": "1", "email_address": "a@example.org"}]).encode(),
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
    for path in (folder, written(tmp_path, archive(files), "all.zip")):
        found, faults, beside = read(path)
        assert [(s.format, s.turns) for s, _, _ in found] == [("WhatsApp", 2), ("Claude", 2)]
        assert faults == [] and len(beside) == 5
        assert any("00001-PHOTO.jpg looks like a picture" in line for line in beside)


def test_exports_an_archive_of_what_is_not_read_says_so(tmp_path: Path) -> None:
    slack = content_of(REFUSED["slack.json"][0])
    found, faults, _ = read(written(tmp_path, archive({"general/2024-05-12.json": slack})))
    assert not found and len(faults) == 1 and "looks like a Slack export" in faults[0]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"../../etc/x.txt": b"Anna: hi"}, "names a file outside itself"),
        ({"/etc/x.txt": b"Anna: hi"}, "names a file outside itself"),
        ({"C:\\x.txt": b"Anna: hi"}, "names a file outside itself"),
        ({"x.txt": b"Anna: hello\n" * 1_500_000}, "is a zip bomb"),
        ({"[Content_Types].xml": b"<x/>"}, "looks like an Office document"),
    ],
)
def test_exports_an_archive_that_attacks_is_refused(
    tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    with pytest.raises(TranscriptError, match=reason):
        read(written(tmp_path, archive(files)))


def test_exports_archives_in_archives_have_an_end(tmp_path: Path) -> None:
    nested = archive({"x.txt": b"Anna: hi"})
    for _ in range(sources_.DEEPEST):
        nested = archive({"x.zip": nested})
    with pytest.raises(TranscriptError, match="archive in 3 archives"):
        read(written(tmp_path, nested))


def test_exports_a_damaged_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="is damaged"):
        read(written(tmp_path, archive({"x.txt": b"Anna: hi" * 99})[:90]))


@pytest.mark.parametrize("at", [45, 60, 2_000, -400])
def test_exports_a_damaged_file_in_an_archive_is_reported_and_the_others_are_read(
    tmp_path: Path, at: int
) -> None:
    words = [hashlib.blake2b(b"%d" % n, digest_size=4).hexdigest() for n in range(2_000)]
    chat = "".join(f"Anna: the whale {word} came by.\n" for word in words).encode()
    packed = archive({"a.txt": chat})
    whole = bytearray(archive({"a.txt": chat, "b.txt": b"Anna: My dog is called Max.\n" * 3}))
    place = at if at > 0 else len(packed) + at
    whole[place : place + 8] = b"\xff" * 8
    found, faults, _ = read(written(tmp_path, bytes(whole)))
    assert faults
    assert "My dog is called Max." in [
        one.text for _, sessions, _ in found for one in turns(sessions)
    ]


def test_exports_an_archive_with_a_file_of_no_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="outside itself"):
        read(written(tmp_path, archive({".": b"Anna: hi"})))


# ------------------------------------------------------------------- size


def long_chat(form: str, count: int) -> Iterator[str]:
    """Yield a chat of ``count`` turns of 10 kB, a day apart."""
    words = "word " * 2000
    if form == "telegram":
        yield '{"name": "x", "messages": ['
        for n in range(count):
            row = {"id": n, "type": "message", "from": "Anna", "text": words, "date": "x",
                   "date_unixtime": str(1_000_000_000 + n * 86_400)}  # fmt: skip
            yield ("," if n else "") + json.dumps(row)
        yield "]}"
        return
    for n in range(count):
        at = datetime.fromtimestamp(1_000_000_000 + n * 86_400, UTC)
        yield json.dumps({"text": words, "at": at.isoformat()}) + "\n"


@pytest.mark.parametrize("form", ["telegram", "rows"])
def test_exports_a_long_file_is_never_held_in_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / "long"
    with path.open("w") as file:
        file.writelines(long_chat(form, 700))
    assert path.stat().st_size > 6_000_000
    [reading] = readings(path, Options(), print, print)
    tracemalloc.start()
    found = survey(reading)
    count = sum(1 for _ in dated(reading, found, None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.turns == count == 700
    assert peak < 5_000_000, f"{peak:,} bytes"


# ------------------------------------------------------------------- parts of the machinery


def test_json_reader_reads_the_same_however_the_text_is_cut() -> None:
    document = '[{"a": [1, 2.5, "x\\"]"]}, 12, {"b": {}}] {"c": null}'
    for size in (1, 2, 7, 1000):
        rest = [document]

        def part(_: int, rest: list[str] = rest, size: int = size) -> str:
            out, rest[0] = rest[0][:size], rest[0][size:]
            return out

        assert list(JsonReader(part).rows()) == [{"a": [1, 2.5, 'x"]']}, {"b": {}}, {"c": None}]


@pytest.mark.parametrize("cut", [0, 1, 9, 17, 30, 44, 10**6])
def test_json_outline_needs_no_whole_document(cut: int) -> None:
    document = '{"n": 1, "m": [{"role": "u", "c": {"x": []}}], "z": [2, {"y": 1}]}'
    every = {".n", ".m", ".m[].role", ".m[].c", ".m[].c.x", ".z", ".z[].y"}
    assert outline(document) == every
    assert outline(document[:cut]) <= every
