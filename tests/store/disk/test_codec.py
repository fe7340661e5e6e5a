"""Rows and keys come back as they were written; a change of a row has a new name of the format."""

import ast
import hashlib
import inspect
import textwrap
import zlib
from datetime import UTC, datetime

import lz4.block
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory import records
from slowcat_memory.core.ranking.token_codes import SCALE
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event, SessionEdge, TokenCodes, Turn, Vector
from slowcat_memory.store.blocks import Head
from slowcat_memory.store.disk import codec, page_reader
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.disk.page_reader import FORMAT
from slowcat_memory.store.disk.tables import TABLES

# ------------------------------------------------------------------- codec

words = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40
)
ODD_IDS = (
    "chunk/0", "chunk/01", "chunk/+1", "chunk/1?q", "chunk/1?", "chunk/12?a?b", "chunk/",
    "chunk/\u0663", "\x01\x02\x03456789", "fact/chunk/1", f"chunk/{10**19}", "chunk/1/2",
)  # fmt: skip
ids = st.one_of(words, st.integers(0, 2**70).map("chunk/{}".format), st.sampled_from(ODD_IDS))
moments = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))
numbers = st.integers(1, (1 << 63) - 1)
turns = st.builds(
    Turn,
    session=words,
    scope=words,
    speaker=words,
    role=st.sampled_from(["user", "assistant"]),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=3000),
    at=moments,
    id=numbers,
    tools=st.lists(words).map(tuple),
    interrupted=st.booleans(),
)
edges = st.builds(
    SessionEdge,
    session=words,
    scope=words,
    kind=st.sampled_from(["start", "end", "resume"]),
    at=moments,
)


@given(st.one_of(turns, edges))
def test_codec_events_come_back(event):
    key = codec.id_key(event.id)
    assert codec.decode(Event, key, codec.encode(key, event)) == event


@given(numbers, numbers)
def test_keys_id_keys_sort_like_ids(a, b):
    assert (codec.id_key(a) < codec.id_key(b)) == (a < b)
    assert codec.id_of(codec.id_key(a)) == a


@given(words, words, words)
def test_keys_scoped_keys_keep_namespaces_apart(a, b, name):
    scope, rest = codec.split_scope(codec.scoped_key(a, name))
    assert (scope, rest.decode()) == (a, name)
    if a != b:
        assert not codec.scoped_key(a, name).startswith(codec.scope_prefix(b))


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=400), words, ids)
def test_codec_vectors_come_back_within_a_level(values, scope, id):
    vector = Vector(scope=scope, memory=id, values=np.array(values, np.float32))
    key = codec.vector_key("e", scope, id)
    back = codec.decode_vector(key, codec.encode_vector(key, vector))
    assert (back.scope, back.memory) == (scope, id)
    assert back.values.dtype == np.float32
    level = np.abs(vector.values).max() / SCALE
    np.testing.assert_allclose(back.values, vector.values, atol=level + 1e-9)


def test_codec_a_stored_vector_keeps_its_cosines():
    rows = np.random.default_rng(5).standard_normal((200, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    key = codec.vector_key("e", "anna", "m")
    sealed = [
        codec.encode_vector(key, Vector(scope="anna", memory="m", values=row)) for row in rows
    ]
    back = np.stack([codec.decode_vector(key, one).values for one in sealed])
    assert np.abs(back @ rows.T - rows @ rows.T).max() < 0.005
    assert max(map(len, sealed)) < 400, "a byte a dimension"


@given(words, ids)
def test_keys_a_vectors_key_gives_its_parts_back(scope, id):
    key = codec.vector_key("e", scope, id)
    assert codec.split_vector_key(key) == (codec.embedder_hash("e"), scope, id)


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_keys_vectors_of_turns_lie_in_the_order_of_the_log(one, other):
    first, second = (codec.vector_key("e", "anna", f"chunk/{n}") for n in (one, other))
    assert (first < second) == (one < other)


@given(words, ids, ids)
def test_keys_no_two_vectors_share_a_row(scope, one, other):
    same = codec.vector_key("e", scope, one) == codec.vector_key("e", scope, other)
    assert same == (one == other)


@given(st.integers(0, 300), st.integers(1, 128), st.integers(0, 9))
def test_codec_token_codes_come_back_as_they_were(count, dim, seed):
    codes = np.random.default_rng(seed).integers(0, 256, (count, -(-dim // 4))).astype(np.uint8)
    key = codec.vector_key("e~0/8", "anna", "m")
    made = TokenCodes(scope="anna", memory="m", codes=codes)
    back = codec.decode_tokens(key, codec.encode_tokens(key, made))
    assert back.dtype == np.uint8
    np.testing.assert_array_equal(back, codes)


@pytest.mark.parametrize("body", [b"", b"\2", b"\x08\0odd", b"\0\0xx"])
def test_codec_what_are_no_token_vectors_is_noticed(body):
    with pytest.raises(StoreDamagedError):
        codec.decode_tokens(b"key", codec.seal(b"key", body))
    with pytest.raises(StoreDamagedError):
        codec.decode_tokens(b"key", codec.seal(b"another", b"\2\0xx"))


@given(st.binary(max_size=3000), st.data())
def test_codec_any_flipped_bit_is_noticed(body, data):
    key = b"key"
    sealed = bytearray(codec.seal(key, body))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    if bit // 8 == 1:  # the codec's number: raw read as LZ4, or the other way, is told by the body
        with pytest.raises(StoreDamagedError):
            codec.decode(Event, key, bytes(sealed))
    else:
        with pytest.raises(StoreDamagedError):
            codec.unseal(key, bytes(sealed))


@given(st.binary(max_size=200))
def test_codec_noise_is_damage_and_nothing_else(noise):
    with pytest.raises(StoreDamagedError):
        codec.decode(Event, b"key", noise)


def test_codec_long_texts_are_compressed_only_when_it_pays():
    assert codec.seal(b"k", b"a" * 5000)[1] == page_reader.LZ4
    assert len(codec.seal(b"k", b"a" * 5000)) < 200
    noise = np.random.default_rng(1).bytes(5000)
    assert codec.seal(b"k", noise)[1] == page_reader.RAW
    assert codec.unseal(b"k", codec.seal(b"k", noise)) == noise


def test_codec_a_bomb_is_refused_before_it_goes_off():
    body = lz4.block.compress(b"\0" * (codec.MAX_BODY + 1))
    head = page_reader.HEADER.pack(
        page_reader.VERSION, page_reader.LZ4, 0, zlib.crc32(body, zlib.crc32(b"k"))
    )
    with pytest.raises(StoreDamagedError, match="size"):
        codec.unseal(b"k", head + body)
    with pytest.raises(ValueError, match="fit"):
        codec.seal(b"k", b"x" * (codec.MAX_BODY + 1))


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 600])
def test_keys_that_cannot_be_are_refused(name):
    with pytest.raises(ValueError, match="key"):
        codec.name_key(name)


# ------------------------------------------------------------------- the name of a store's format changes with its rows

ROWS = (
    *(records.Turn, records.SessionEdge, records.Session, records.Memory, records.Made),
    *(records.Context, records.Key, records.LedgerEntry, records.Offer, records.LeftOut),
    *(records.CallEntry, records.CommandEntry, records.Task, records.Run, records.Cursor),
    *(records.Manifest, records.IndexFile, records.TrustedTime),
    *(records.Statement, records.Ending),
    *(Head, CopyState, Unsent),
)
DIGESTS = {"slowcat-7": "70516062ffbbf8c1"}


def fields_of(kind: type) -> list[str]:
    """Return the options and the fields of a row's struct, as its source has them."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(made, ast.ClassDef)
    options = [ast.unparse(option) for option in made.keywords]
    return [*options, *(ast.unparse(one) for one in made.body if isinstance(one, ast.AnnAssign))]


def test_tables_a_change_of_a_row_has_a_new_name_of_the_format():
    tables = [(table.name, table.key, table.value) for table in TABLES]
    rows = {kind.__name__: fields_of(kind) for kind in ROWS}
    digest = hashlib.sha256(repr((tables, rows)).encode()).hexdigest()[:16]
    assert DIGESTS.get(FORMAT) == digest, (
        f"rows have changed: give page_reader.FORMAT another name, and keep {digest} beside it here"
    )
