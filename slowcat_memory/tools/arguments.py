"""Arguments of the LLM's tools: the schema that a model reads, and the type they are parsed to."""

from typing import Annotated

from msgspec import Meta, Struct

Date = Annotated[str, Meta(description="A date like 2024-05-31, or words like 'last week'.")]


class Search(Struct, frozen=True):
    """Arguments of ``search_memory``."""

    query: Annotated[str, Meta(description="What to look for, in a few words.")]
    speaker: Annotated[str, Meta(description="Only what this person said.")] = ""
    since: Date = ""
    until: Date = ""


class Remember(Struct, frozen=True):
    """Arguments of ``remember``."""

    text: Annotated[str, Meta(description="One sentence that stands on its own, with names.")]


class ForgetWhat(Struct, frozen=True):
    """Arguments of ``forget``."""

    what: Annotated[str, Meta(description="What to forget, in a few words.")]
    confirm: Annotated[bool, Meta(description="True only after the user agreed.")] = False


class Nothing(Struct, frozen=True):
    """Arguments of ``facts_list``: none."""


class Read(Struct, frozen=True):
    """Arguments of ``facts_read``."""

    name: Annotated[str, Meta(description="A type that facts_list named.")]


class AsOf(Struct, frozen=True):
    """Arguments of ``memory_as_of``."""

    query: Annotated[str, Meta(description="What to look for, in a few words.")]
    date: Date


Arguments = Search | Remember | ForgetWhat | Nothing | Read | AsOf

KINDS: dict[str, type[Arguments]] = {
    "search_memory": Search,
    "remember": Remember,
    "forget": ForgetWhat,
    "facts_list": Nothing,
    "facts_read": Read,
    "memory_as_of": AsOf,
}
