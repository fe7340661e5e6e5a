"""The lexical views: which words stand for a document. Another view is another line here."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from slowcat_memory.core.text.grams import gram_tokens
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.options import IndexOptions


class View(Struct, frozen=True):
    """One way to look at a document.

    Attributes:
        name: Its name, in scores and files.
        source: What it counts, a key of ``SOURCES``.
        before: Whether the document said before lends its words.
        after: Whether the document said after does.
        keys: Whether the texts of its keys count as its own words.
    """

    name: str
    source: str = "words"
    before: bool = False
    after: bool = False
    keys: bool = False


WINDOW = View("window", before=True, after=True)
TURN = View("turn", keys=True)
GRAMS = View("grams", source="grams")


def views(options: IndexOptions) -> tuple[View, ...]:
    """Choose the views.

    Args:
        options: The index's options.

    Returns:
        The window, which bounds relevance, and the others that are switched on.
    """
    chosen = ((TURN, options.turn_view), (GRAMS, options.gram_view))
    return (WINDOW, *(view for view, wanted in chosen if wanted))


SOURCES: Mapping[str, Callable[[Tokenizer, str], list[str]]] = {
    "words": lambda tokenizer, text: tokenizer(text),
    "grams": lambda tokenizer, text: gram_tokens(tokenizer(text)),
}
"""What of a text is counted, repeated tokens repeated. Each source in use has a vocabulary."""


def sources(views: tuple[View, ...]) -> tuple[str, ...]:
    """Name the sources that views count.

    Args:
        views: The views.

    Returns:
        Their sources, each once.
    """
    return tuple(dict.fromkeys(view.source for view in views))


def keyed(views: tuple[View, ...]) -> frozenset[str]:
    """Name the sources of which views count the texts of keys.

    Args:
        views: The views.

    Returns:
        The sources.
    """
    return frozenset(view.source for view in views if view.keys)
