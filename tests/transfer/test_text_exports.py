"""Text exports of other apps: WhatsApp, WebVTT, CSV, Markdown."""

import pytest

from slowcat_memory.transfer import files

DOG = "My dog is called Max."


def read(tmp_path, text):
    path, faults = tmp_path / "chat.txt", []
    path.write_text(text)
    (found,) = files.read(path, faults.append)
    turns = [u for session in found.sessions for u in session.utterances]
    return [(u.speaker, u.text, u.at and u.at.isoformat()) for u in turns], faults


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("12.05.26, 18:31 - Anna: ", "2026-05-12T18:31:00"),
        ("[12.05.26, 18:31:02] Anna: ", "2026-05-12T18:31:02"),
        ("13/05/2026, 18:31 - Anna: ", "2026-05-13T18:31:00"),
        ("5/13/26, 6:31 PM - Anna: ", "2026-05-13T18:31:00"),
        ("[5/2/26, 12:05:09\u202fAM] Anna: ", "2026-05-02T00:05:09"),
    ],
)
def test_text_exports_whatsapp_writes_its_dates_in_many_ways(tmp_path, line, at):
    notice = line.removesuffix("Anna: ") + "Messages are end-to-end encrypted."
    said, faults = read(tmp_path, f"{notice}\n{line}My dog is\ncalled Max.\n")
    assert said == [("Anna", "My dog is\ncalled Max.", at)] and not faults


def test_text_exports_one_date_tells_the_order_for_the_whole_file(tmp_path):
    said, _ = read(tmp_path, f"03/04/26, 18:31 - Anna: {DOG}\n04/25/26, 18:31 - Anna: Hello.\n")
    assert [at for _, _, at in said] == ["2026-03-04T18:31:00", "2026-04-25T18:31:00"]


def test_text_exports_a_phone_number_is_a_name_too(tmp_path):
    said, faults = read(tmp_path, f"12.05.26, 18:31 - +49 151 23456: {DOG}\n")
    assert said[0][1] == DOG and not faults


@pytest.mark.parametrize(
    "text",
    [
        f"WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Anna>{DOG}</v>\n",
        f"WEBVTT\n\n00:01.000 --> 00:03.000 align:start\nAnna: {DOG}\n",
        f"speaker,text\nAnna,{DOG}\n",
        f'"role";"content"\nAnna;"{DOG}"\n',
        f"**Anna:** {DOG}\n",
        f"- **Anna**: {DOG}\n",
    ],
)
def test_text_exports_subtitles_tables_and_markdown(tmp_path, text):
    assert read(tmp_path, text) == ([("Anna", DOG, None)], [])


def test_text_exports_a_table_may_have_times(tmp_path):
    said, _ = read(tmp_path, f"timestamp,speaker,message\n2024-05-12T18:30,Anna,{DOG}\n")
    assert said == [("Anna", DOG, "2024-05-12T18:30:00")]


def test_text_exports_a_line_that_is_a_date_begins_a_session(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text(f"Anna: {DOG}\nBot: Noted.\n2026-05-14 09:00\nAnna: Hello.\n")
    (found,) = files.read(path)
    assert [len(one.utterances) for one in found.sessions] == [2, 1]
    assert f"{found.sessions[1].started:%Y-%m-%d %H:%M}" == "2026-05-14 09:00"
