"""The page of prompts: as they are sent, with replies that are kept and replies that are refused."""

import re
from pathlib import Path

import pytest

import slowcat_memory
from tests.support.prompt_examples import PAGE, Example, examples, page

EXAMPLES = list(examples())
PACKAGE = Path(slowcat_memory.__file__).parent


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: one.title)
def test_a_good_reply_is_kept_and_the_others_are_refused(one: Example) -> None:
    assert one.keeps(one.good) == one.kept
    for reply, why in one.refused:
        assert not set(one.keeps(reply)) & set(one.kept) and not one.keeps(reply), why


def test_the_page_shows_every_prompt_as_it_is_sent() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.support.prompt_examples"


def test_every_prompt_of_the_package_has_an_example() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "core").rglob("*.py")
        if re.search(r"^(?:SYSTEM|_INTROSPECTIVE|_SYSTEM)\b.* = ", path.read_text("utf-8"), re.M)
    }
    assert files == {one.file for one in EXAMPLES}
