"""The tokenizer of BERT models, for the process that talks: open in milliseconds, 5 us a query.

It gives the ids that the ``tokenizers`` library gives for the same ``tokenizer.json``, except where
their Unicode tables differ (500 characters of scripts encoded after 2015), and reads only files of the
one kind that it knows (``load`` returns None for others). The library costs 14 MB and up to 0.1 s to
open; it is opened for a document so long that it must be cut into pieces, which needs offsets.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import msgspec
from msgspec import Struct

_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)  # each stands alone, as a word does


class _Normalizer(Struct):
    type: Literal["BertNormalizer"]
    clean_text: Literal[True]
    handle_chinese_chars: Literal[True]
    strip_accents: bool | None
    lowercase: bool


class _PreTokenizer(Struct):
    type: Literal["BertPreTokenizer"]


class _Added(Struct):
    id: int
    content: str
    single_word: Literal[False]
    lstrip: Literal[False]
    rstrip: Literal[False]
    normalized: Literal[False]


class _Special(Struct):
    ids: list[int]


class _Template(Struct):
    type: Literal["TemplateProcessing"]
    single: list[dict[str, dict[str, Any]]]
    special_tokens: dict[str, _Special]


class _Model(Struct):
    type: Literal["WordPiece"]
    unk_token: str
    continuing_subword_prefix: str
    max_input_chars_per_word: int
    vocab: dict[str, int]


class _File(Struct):
    """What a ``tokenizer.json`` of the known kind has; another kind does not decode."""

    normalizer: _Normalizer
    pre_tokenizer: _PreTokenizer
    added_tokens: list[_Added]
    post_processor: _Template
    model: _Model


class _Offsets(Sequence[tuple[int, int]]):
    """Start and end of each token, in characters: worked out when one of them is wanted."""

    def __init__(self, count: int, work_out: Callable[[], list[tuple[int, int]]]) -> None:
        self._count, self._work_out = count, work_out

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[int, int]]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        return self._all[place]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[tuple[int, int]]:
        return self._work_out()


class Encoding(NamedTuple):
    """The tokens of a text."""

    ids: list[int]
    offsets: Sequence[tuple[int, int]]


class WordPiece:
    """As much of ``tokenizers.Tokenizer`` as embedding needs. Safe to use from any thread."""

    def __init__(self, path: Path, file: _File) -> None:
        """Take what a decoded file says; raises KeyError or IndexError for an odd template."""
        model, normalizer = file.model, file.normalizer
        self._path = path
        self._vocabulary = model.vocab
        self._unknown = model.vocab[model.unk_token]
        self._prefix, self._most = model.continuing_subword_prefix, model.max_input_chars_per_word
        self._longest = max(map(len, model.vocab))
        strip = (
            normalizer.lowercase if normalizer.strip_accents is None else normalizer.strip_accents
        )
        self._characters = _Characters(normalizer.lowercase, strip)
        self._added = {token.content: token.id for token in file.added_tokens}
        added = "|".join(map(re.escape, self._added))
        self._split = re.compile(f"({added or '(?!)'})").split
        self._lead, self._end = _template(file.post_processor)

    @classmethod
    def load(cls, path: Path) -> "WordPiece | None":
        """Read a ``tokenizer.json``; None if it is of another kind.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            return cls(path, msgspec.json.decode(path.read_bytes(), type=_File))
        except (msgspec.MsgspecError, KeyError, IndexError, UnicodeDecodeError):
            return None

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        """Return the tokens of a text without lone surrogates."""
        ids = list(self._lead) if add_special_tokens else []
        for part in self._split(text):
            if (added := self._added.get(part)) is not None:
                ids.append(added)
            else:
                self._add_words(part, ids)
        if add_special_tokens:
            ids += self._end
        offsets = _Offsets(
            len(ids),
            lambda: self._library.encode(text, add_special_tokens=add_special_tokens).offsets,
        )
        return Encoding(ids, offsets)

    def _add_words(self, text: str, ids: list[int]) -> None:
        known = self._vocabulary.get
        for word in text.translate(self._characters).split():
            if (whole := known(word)) is not None:
                ids.append(whole)
            else:
                ids += self._pieces(word)

    def _pieces(self, word: str) -> list[int]:
        """Return the longest pieces that are known, from the left; one unknown if any is not."""
        if len(word) > self._most:
            return [self._unknown]
        ids: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                if (found := self._vocabulary.get(prefix + word[start:end])) is not None:
                    break
            else:
                return [self._unknown]
            ids.append(found)
            start, prefix = end, self._prefix
        return ids

    @cached_property
    def _library(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _template(template: _Template) -> tuple[list[int], list[int]]:
    """Return the ids before and after a text."""
    kinds = [next(iter(part)) for part in template.single]
    place = kinds.index("Sequence") if "Sequence" in kinds else len(kinds)
    sides: list[list[int]] = []
    for parts in (template.single[:place], template.single[place + 1 :]):
        names = [part["SpecialToken"]["id"] for part in parts]
        sides.append([number for name in names for number in template.special_tokens[name].ids])
    return sides[0], sides[1]


class _Characters(dict[int, str]):
    """What stands for a character, for ``str.translate``; punctuation is set apart by spaces."""

    def __init__(self, lowercase: bool, strip: bool) -> None:
        super().__init__()
        self._lowercase, self._strip = lowercase, strip

    def __missing__(self, code: int) -> str:
        self[code] = made = self._normal(chr(code))
        return made

    def _normal(self, character: str) -> str:
        if character in "\t\n\r" or (character.isspace() and not _is_other(character)):
            return " "
        if character in "\0\ufffd" or _is_other(character):
            return ""
        code, made = ord(character), character
        if self._strip:
            parts = unicodedata.normalize("NFD", made)
            made = "".join(part for part in parts if unicodedata.category(part) != "Mn")
        if self._lowercase:
            made = "".join(part.lower() for part in made)
        made = "".join(f" {part} " if _is_punctuation(part) else part for part in made)
        return f" {made} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else made


def _is_other(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs")


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")
