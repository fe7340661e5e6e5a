from datetime import UTC, datetime

import lz4.block
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event, SessionEdge, TokenVectors, Turn, Vector
from slowcat_memory.store.disk import canary, codec, keys

words = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40
)
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
    key = keys.id_key(event.id)
    assert codec.decode(Event, key, codec.encode(key, event)) == event


@given(numbers, numbers)
def test_keys_id_keys_sort_like_ids(a, b):
    assert (keys.id_key(a) < keys.id_key(b)) == (a < b)
    assert keys.id_of(keys.id_key(a)) == a


@given(words, words, words)
def test_keys_scoped_keys_keep_namespaces_apart(a, b, name):
    scope, rest = keys.split_scope(keys.scoped_key(a, name))
    assert (scope, rest.decode()) == (a, name)
    if a != b:
        assert not keys.scoped_key(a, name).startswith(keys.scope_prefix(b))


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=400), st.booleans(), words)
def test_codec_vectors_come_back_at_half_precision(values, draft, scope):
    vector = Vector(scope=scope, memory="m", values=np.array(values, np.float32), draft=draft)
    key = keys.vector_key("e", scope, "m")
    back = codec.decode_vector(key, codec.encode_vector(key, vector))
    assert (back.scope, back.memory, back.draft) == (scope, "m", draft)
    assert back.values.dtype == np.float32
    np.testing.assert_array_equal(back.values, vector.values)


@given(st.integers(0, 300), st.integers(1, 128), st.booleans(), st.integers(0, 9))
def test_codec_token_vectors_come_back_as_they_were(count, dim, draft, seed):
    values = np.random.default_rng(seed).integers(-127, 128, (count, dim)).astype(np.int8)
    key = keys.vector_key("e~0/8", "anna", "m")
    sealed = codec.encode_tokens(
        key, TokenVectors(scope="anna", memory="m", values=values, draft=draft)
    )
    back, was_draft = codec.decode_tokens(key, sealed)
    assert back.dtype == np.int8 and was_draft == draft
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("body", [b"", b"\0\2", b"\0\2\0odd", b"\0\0\0xx"])
def test_codec_what_are_no_token_vectors_is_noticed(body):
    with pytest.raises(StoreDamagedError):
        codec.decode_tokens(b"key", codec.seal(b"key", body))
    with pytest.raises(StoreDamagedError):
        codec.decode_tokens(b"key", codec.seal(b"another", b"\0\2\0xx"))


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


def test_codec_a_record_under_another_key_is_damage():
    with pytest.raises(StoreDamagedError):
        codec.unseal(b"b", codec.seal(b"a", b"body"))


def test_codec_long_texts_are_compressed_only_when_it_pays():
    assert codec.seal(b"k", b"a" * 5000)[1] == codec.LZ4
    assert len(codec.seal(b"k", b"a" * 5000)) < 200
    noise = np.random.default_rng(1).bytes(5000)
    assert codec.seal(b"k", noise)[1] == codec.RAW
    assert codec.unseal(b"k", codec.seal(b"k", noise)) == noise


def test_codec_a_bomb_is_refused_before_it_goes_off():
    body = lz4.block.compress(b"\0" * (codec.MAX_BODY + 1))
    import zlib

    head = canary.HEADER.pack(canary.VERSION, codec.LZ4, 0, zlib.crc32(body, zlib.crc32(b"k")))
    with pytest.raises(StoreDamagedError, match="size"):
        codec.unseal(b"k", head + body)
    with pytest.raises(ValueError, match="fit"):
        codec.seal(b"k", b"x" * (codec.MAX_BODY + 1))


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 600])
def test_keys_that_cannot_be_are_refused(name):
    with pytest.raises(ValueError, match="key"):
        keys.name_key(name)
