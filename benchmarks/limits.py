"""What this machine could do at best: the time that a recall cannot go below.

The bound is a sum of two measured rates:

    bytes that must be read / memory bandwidth  +  multiply-adds of the model / arithmetic rate

- *bytes*: the query's postings (4 bytes of document and 4 of score each, in every lexical view), the
  vectors or codes that its kind of index looks at, and the vectors compared exactly;
- *multiply-adds*: of the embedding model for the query's tokens (weights of the layers times
  tokens; attention between so few tokens is below a percent of that).

Nothing else is counted: no Python, no thread hop, no cache miss, no fetch of texts. Bandwidth is
what one core reads while it adds up a large array. The arithmetic rate is the better of two matrix
products of the model's shape on one core, 32-bit floats by NumPy and bytes by ONNX Runtime.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slowcat_memory.index import IndexOptions
from slowcat_memory.index.vectors.sealed_vectors import has_codes

LAYERS, HIDDEN, INNER = 6, 384, 1536  # all-MiniLM-L6-v2
WEIGHTS = LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER)  # multiply-adds a token
POSTING = 8  # bytes
ARRAY = 256 << 20  # bytes, beyond every cache


def rates(tokens: int = 14) -> dict[str, float]:
    """Measure this machine, now.

    Args:
        tokens: Length of a query, rows of the matrix product.

    Returns:
        ``bytes_per_ms`` and ``multiply_adds_per_ms`` of one core.
    """
    data = np.ones(ARRAY // 8)
    read = ARRAY / _best(lambda: data.sum())
    return {"bytes_per_ms": read, "multiply_adds_per_ms": max(_floats(tokens), _bytes(tokens))}


def bound_ms(
    measured: dict[str, float],
    *,
    tokens: float,
    postings: float,
    vectors: int,
    dim: int,
    options: IndexOptions = IndexOptions(),
) -> dict[str, float]:
    """Work out the bound of one recall.

    Args:
        measured: From ``rates``.
        tokens: Of the query, for the model; 0 when it was embedded ahead.
        postings: That the query's terms have, in all lexical views.
        vectors: How many sealed vectors there are.
        dim: Their dimension.
        options: The index's options.

    Returns:
        Milliseconds: "embed", "lexical", "dense", and "sum".
    """
    looked_at = 2.0 * dim * vectors
    if has_codes(vectors, dim, options):  # 4 bits for 4 dimensions
        looked_at = dim / 8 * vectors + dim * options.rescore
    parts = {
        "embed": WEIGHTS * tokens / measured["multiply_adds_per_ms"],
        "lexical": POSTING * postings / measured["bytes_per_ms"],
        "dense": looked_at / measured["bytes_per_ms"],
    }
    return {**parts, "sum": sum(parts.values())}


def _floats(tokens: int) -> float:
    left, right = np.ones((tokens, HIDDEN), np.float32), np.ones((HIDDEN, INNER), np.float32)
    return tokens * HIDDEN * INNER / _best(lambda: left @ right)


def _bytes(tokens: int) -> float:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    weights = np.ones((HIDDEN, INNER), np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["left", "right"], ["out"])],
        "product",
        [helper.make_tensor_value_info("left", TensorProto.UINT8, [tokens, HIDDEN])],
        [helper.make_tensor_value_info("out", TensorProto.INT32, [tokens, INNER])],
        [onnx.numpy_helper.from_array(weights, "right")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    given = {"left": np.ones((tokens, HIDDEN), np.uint8)}
    return tokens * HIDDEN * INNER / _best(lambda: session.run(None, given))


def _best(work: Callable[[], Any], times: int = 30) -> float:
    """Time some work: the median of the fastest third, in milliseconds."""
    took: Sequence[float] = sorted(_once(work) for _ in range(times))
    return statistics.median(took[: max(1, times // 3)])


def _once(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
