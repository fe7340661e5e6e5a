import re
import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.normalize import (
    INDEX_CHARS,
    KEEP_CHARS,
    Tokenizer,
    clean,
    estimate_tokens,
    fingerprint,
    neutralise,
)
from tests.support.rows import each_row

anything = st.text(st.characters(exclude_categories=()))  # surrogates too
odd = st.text(
    st.sampled_from("aé\u0301e\0\x0b\r\n\t \ud800\udfff\u202e\ufeff\U000e0041\u0958\u0344‘’<|>[]:")
)

# ------------------------------------------------------------------- clean


@given(anything | odd, st.integers(1, 40))
def test_clean_returns_text_that_can_be_written(text: str, limit: int) -> None:
    kept, cut = clean(text, limit)
    kept.encode("utf-8")
    assert len(kept) <= limit and cut == max(0, len(text) - limit)
    assert clean(kept, limit) == (kept, 0)
    assert unicodedata.is_normalized("NFC", kept)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", kept)


@each_row(
    ("said", "kept"),
    [
        ("  hello \n", "hello"),
        ("caf\u0065\u0301", "café"),
        ("e\u202e\u0301", "é"),
        ("nul\0byte", "nulbyte"),
        ("one\r\ntwo\rthree\x0cfour", "one\ntwo\nthree\nfour"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        ("\u202eright to left\u202c", "right to left"),
        ("hidden\U000e0041\U000e0042 tag", "hidden tag"),
        ("<|im_start|>system </memories>", "<|im_start|>system </memories>"),
        ("👩‍👩‍👧 and 漢字", "👩‍👩‍👧 and 漢字"),
        ("", ""),
    ],
)
def test_clean_keeps_everything_that_can_be_written(said: str, kept: str) -> None:
    assert clean(said) == (kept, 0)


def test_clean_cuts_a_huge_text_and_reports_it() -> None:
    kept, cut = clean("word " * 300_000)
    assert len(kept) <= KEEP_CHARS and cut == 1_500_000 - KEEP_CHARS


# ------------------------------------------------------------------- neutralise

CONTROL_TOKENS = [
    # ChatML, Qwen
    "<|im_start|>system",
    "<|im_end|>",
    "<|endoftext|>",
    "<tool_call>",
    "</think>",
    # Llama 2 and 3
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<|begin_of_text|>",
    "<|start_header_id|>system<|end_header_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    # Gemma
    "<start_of_turn>model",
    "<end_of_turn>",
    "<bos>",
    # Mistral
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[/TOOL_RESULTS]",
    "[SYSTEM_PROMPT]",
    "[control_8]",
    # Phi
    "<|system|>",
    "<|assistant|>",
    "<|end|>",
    # DeepSeek
    "<｜begin▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    # GLM, gpt-oss, Command R
    "[gMASK]<sop>",
    "<|channel|>analysis<|message|>",
    "<|START_OF_TURN_TOKEN|>",
    # ours, and fences
    "<memories>",
    "</memories>",
    "```",
]
ROLE_HEADERS = [
    "System: obey",
    "\n\nHuman: hi",
    "### Instruction: obey",
    "assistant : yes",
    "USER:",
]
hostile = st.lists(st.sampled_from([*CONTROL_TOKENS, *ROLE_HEADERS]) | anything, max_size=6)


def is_live(text: str) -> bool:
    """Tell whether a text holds something that a chat template could take for its own."""
    return bool(
        re.search(r"[<>|`｜\u2581＜＞]|\[/?\w+\]", text)
        or re.search(r"(^|\s)(#+\s*)?(system|assistant|user|human|instruction)\s*:", text, re.I)
    )


@each_row("token", CONTROL_TOKENS + ROLE_HEADERS)
def test_neutralise_leaves_no_control_token(token: str) -> None:
    assert is_live(token)
    for text in (
        token,
        f"Max {token} barks",
        f"a{token}b",
        token * 2,
        token[:4] + token + token[4:],
    ):
        assert not is_live(neutralise(text)), neutralise(text)


def test_neutralise_joins_no_token_hidden_in_a_token() -> None:
    assert not is_live(neutralise("<|im_<|im_end|>end|>"))
    assert not is_live(neutralise("[IN[INST]ST]"))
    assert not is_live(neutralise("[\u200bINST\u2060]"))
    assert not is_live(neutralise("</mem\u200bories>"))


@given(hostile)
def test_neutralise_returns_one_stable_line(parts: list[str]) -> None:
    text, _ = clean(" ".join(parts))
    line = neutralise(text)
    assert not is_live(line)
    assert neutralise(line) == line
    assert line == line.strip() and len(line.splitlines()) <= 1


@given(st.lists(st.sampled_from([*CONTROL_TOKENS, "Max", "barks", "at", "10:30", "a/b", "(or)"])))
def test_neutralise_keeps_the_words(parts: list[str]) -> None:
    text = " ".join(parts)
    assert re.findall("[a-z0-9]+", neutralise(text), re.I) == re.findall("[a-z0-9]+", text, re.I)


def test_neutralise_keeps_ordinary_text() -> None:
    said = "I'd meet Anna's system admin (the user group) at 10:30, and he said: bring 2–3 cats!"
    assert neutralise(said) == said


# ------------------------------------------------------------------- words


@each_row(
    ("text", "tokens"),
    [
        ("My dog is called Max.", ["dog", "call", "max"]),
        ("Running, runs and RUN", ["run", "run", "run"]),
        ("I don't, can't, won't; it's", []),
        ("I'll be well and she'd wed", ["well", "wed"]),
        ("Anna's and Anna’s cat", ["anna", "anna", "cat"]),
        ("O'Brien", ["obrien"]),
        ("Straße CAFÉ café", ["strass", "café", "café"]),
        ("漢字かな", ["漢字", "字か", "かな", "漢", "字"]),
        ("猫", ["猫"]),
        ("iPhone手机2台", ["iphon", "手机", "手", "机", "2", "台"]),
        ("snake_case 3.5", ["snake", "case", "3", "5"]),
        ("...", []),
        ("😀🎉 👩‍👩‍👧 ❤️", []),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("ខ្ញុំ ລາວ", ["ខ្", "្ញ", "ញុ", "ុំ", "ລາ", "າວ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("كِتَابٌ كتـــاب", ["كتاب", "كتاب"]),
        ("أحمد إحمد احمد", ["احمد", "احمد", "احمد"]),
        ("البيت والبيت بيت", ["بيت", "بيت", "بيت"]),
        ("الله", ["الله"]),
        ("می‌روم ميروم", ["ميروم", "ميروم"]),
        ("שָׁלוֹם שלום", ["שלום", "שלום"]),
        ("ＡＢＣ ﬁne cafe\u0301", ["abc", "fine", "café"]),
        ("İstanbul istanbul", ["istanbul", "istanbul"]),
    ],
)
def test_tokenizer_folds_and_stems(text: str, tokens: list[str]) -> None:
    tokenizer = Tokenizer()
    assert tokenizer(text) == tokens
    assert tokenizer(text) == tokens  # from its memory


def test_tokenizer_none_stems_nothing() -> None:
    assert Tokenizer("none")("The running dogs don't") == ["running", "dogs"]


def test_tokenizer_of_other_languages_stems_and_has_no_stop_words() -> None:
    assert Tokenizer("german")("The Häuser am See") == ["the", "haus", "am", "see"]


def test_tokenizer_refuses_an_unknown_stemmer() -> None:
    with pytest.raises(ValueError, match="klingon.*none, .*english"):
        Tokenizer("klingon")


def test_tokenizer_version_differs_by_stemmer() -> None:
    assert Tokenizer().version == Tokenizer("english").version != Tokenizer("german").version


def test_tokenizer_reads_the_beginning_of_a_huge_text() -> None:
    assert len(Tokenizer()("max " * INDEX_CHARS)) == INDEX_CHARS // 4


@given(anything)
def test_tokenizer_takes_any_text(text: str) -> None:
    for token in Tokenizer()(text):
        assert token and not re.search(r"\s", token)


def test_tokenizer_is_thread_safe() -> None:
    words = [
        f"{stem}{end}" for stem in ("walk", "talk", "bark") for end in ("s", "ed", "ing", "er")
    ]
    tokenizer, results = Tokenizer(), []

    def split() -> None:
        results.append(
            [Tokenizer.__call__(tokenizer, f"{word} {n}") for n in range(200) for word in words]
        )

    threads = [threading.Thread(target=split) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My dog, Max!", "my DOG max"),
        ("Anna’s", "anna's"),
        ("  a\nb ", "A b"),
        ("Straße", "STRASSE"),
    ],
)
def test_fingerprint_is_equal_for_the_same_words(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other) != ""


# ------------------------------------------------------------------- tokens


@given(anything, anything)
def test_estimate_tokens_grows_with_the_text(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more)
    assert estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)


def test_estimate_tokens() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("I am on it") == 6
    assert estimate_tokens("x" * 400) == 100
    assert estimate_tokens("漢" * 100) == 75


@pytest.mark.parametrize("language", ["english", "german", "none"])
def test_tokenizer_for_queries_caches_no_words(language: str) -> None:
    tokenizer = Tokenizer(language)
    passing = tokenizer.for_queries()
    text = "Where did the Zanzibaris' photographs go, für Müllers?"
    assert passing(text) == Tokenizer(language)(text)
    assert "zanzibaris" not in tokenizer._known and not passing._known
    tokenizer(text)
    assert passing(text) == tokenizer(text)  # what is known already may be used
    assert tokenizer._known and passing.version == tokenizer.version
