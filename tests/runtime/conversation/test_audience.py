from typing import Any

import pytest

from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.conversation.audience import (
    Audience,
    PeopleOptions,
)
from tests.support.rows import each_row

SPEAKERS = {"s1": "anna", "s2": "ben", "s3": "guest"}


def people(**options: Any) -> Audience:
    return Audience(PeopleOptions(**{"scopes": "each", "household": "home", **options}),
                    "anna", SPEAKERS)  # fmt: skip


@pytest.mark.parametrize(
    ("person", "scope"),
    [("anna", "anna"), ("ben", "ben"), ("s2", "ben"), ("home", "guest"), ("eve", "guest"),
     ("guest", "guest")],
)  # fmt: skip
def test_audience_application_may_name_people_by_their_scopes(person: str, scope: str) -> None:
    assert people().named_scope(person) == scope


@pytest.mark.parametrize(
    ("scopes", "reads"),
    [
        (("anna",), ("anna", "home")),
        (("ben",), ("ben", "home")),
        (("anna", "ben"), ("home",)),
        (("guest",), ()),
        (("anna", "guest"), ()),
    ],
)
def test_audience_read_is_what_all_who_speak_may_read(scopes: Any, reads: Any) -> None:
    assert people().readable(scopes) == reads


def test_audience_who_is_known_is_remembered_and_a_guest_is_not() -> None:
    assert people().people == ("anna", "ben")
    assert people().recallable == ("anna", "ben", "home")


@each_row(
    ("options", "own", "speakers", "words"),
    [
        ({"scopes": "one"}, "anna", {"s1": "ben"}, "people.scopes"),
        ({"household": "anna"}, "anna", {}, "household"),
        ({"household": "ben"}, "anna", {"s1": "ben"}, "household"),
        ({"household": "guest"}, "anna", {}, "household"),
        ({}, "guest", {}, "guest"),
        ({}, "anna", {"s1": "Ben B."}, "cannot name a scope"),
        ({"guest": "no/body"}, "anna", {}, "cannot name a scope"),
        ({"household": "No"}, "anna", {}, "cannot name a scope"),
    ],
)
def test_audience_scope_is_one_thing(options: Any, own: str, speakers: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Audience(PeopleOptions(**{"scopes": "each", **options}), own, speakers)
