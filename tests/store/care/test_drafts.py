"""Unfinished files with text of the memory: found by a note, whenever a forget or a kill comes."""

from pathlib import Path

from slowcat_memory.store.care.copy import noted, remove_drafts


def test_drafts_a_file_that_is_created_after_a_forget_is_still_known(tmp_path: Path) -> None:
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        remove_drafts(folder, running=True)  # a forget, before the file exists
        draft.write_text("My dog is called Max.")
        assert remove_drafts(folder, running=True) == [] and not draft.exists()  # the next forget
        draft.write_text("My dog is called Max.")
    assert draft.exists(), "its writer has finished"


def test_drafts_a_living_writer_keeps_its_file_at_an_opening(tmp_path: Path) -> None:
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        draft.write_text("My dog is called Max.")
        remove_drafts(folder, running=False)
        assert draft.exists()
