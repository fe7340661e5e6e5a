"""The document child: ``python -m slowcat_memory.providers.sentence_child MODEL THREADS TOKENS``.

Loads the model once and embeds what arrives on standard input until that ends, which it does
when the parent closes it or dies.
"""

import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from slowcat_memory.providers import documents, exported, wire
from slowcat_memory.providers.child import settle
from slowcat_memory.providers.wire import Fault, Hello, Request, Vectors

PAD_TOGETHER = 4  # texts of one forward pass: on a CPU, padding costs more than batches gain


def load(model_name: str, threads: int, doc_max_tokens: int) -> tuple[Hello, "Encode"]:
    """Load the model; imports torch.

    Args:
        model_name: A name on the hub, or a path.
        threads: Threads of torch.
        doc_max_tokens: Tokens of a piece of a document; the model's own limit wins when lower.

    Returns:
        What to tell the parent, and a function from texts to vectors of unit length.

    Raises:
        ProviderError: It cannot be used here.
    """
    from slowcat_memory.providers import sentence_model

    folder = sentence_model.fetch(model_name)
    model: Any = sentence_model.load(folder, threads)
    limit = min(doc_max_tokens, int(model.max_seq_length or doc_max_tokens))
    model.max_seq_length = limit
    tokenizer = sentence_model.tokenizer_of(model)
    _, prompt = sentence_model.prompts_of(model)

    def encode(texts: list[str]) -> np.ndarray:
        plan = documents.plan(texts, tokenizer, prompt, limit)
        vectors = model.encode(
            plan.pieces,
            prompt=prompt,
            batch_size=PAD_TOGETHER,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return documents.gather(plan, vectors)

    name = exported.short_name(model_name)
    dim = encode([""]).shape[1]
    return Hello(exported.space_key(name, exported.weights_hash(folder), dim), dim), encode


Encode = Callable[[list[str]], np.ndarray]


def serve(requests: BinaryIO, replies: BinaryIO, encode: Encode) -> None:
    """Answer requests until there are no more.

    Args:
        requests: The pipe from the parent.
        replies: The pipe to the parent.
        encode: From texts to vectors.
    """
    while isinstance(request := wire.read(requests), Request):
        try:
            reply: Vectors | Fault = Vectors.of(encode(request.texts))
        except Exception as error:  # the parent shall hear of it, whatever it is
            reply = Fault("ProviderError", f"embedding failed ({type(error).__name__})")
        wire.write(replies, reply)


def main() -> int:
    """Run as a program.

    Returns:
        0 when the parent wants no more, 1 when the model cannot be used.
    """
    replies = settle()
    try:
        try:
            hello, encode = load(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
        except Exception as error:  # whatever the libraries raise must reach the parent
            wire.write(replies, Fault.of(error, "loading the model"))
            return 1
        wire.write(replies, hello)
        serve(sys.stdin.buffer, replies, encode)
    except BrokenPipeError:
        pass  # the parent is gone
    return 0


if __name__ == "__main__":
    sys.exit(main())
