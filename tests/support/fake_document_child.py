"""Plays the document child, with the behaviour that the name of the export's folder selects."""

import os
import sys
import time

import numpy as np

from slowcat_memory.providers.embedding.base import Embedded
from slowcat_memory.providers.embedding.worker.process import (
    Fault,
    Request,
    Vectors,
    become_child,
    read_frame,
    write_frame,
)

DIM = 8
TOKEN_DIM = 4


def vectors(texts: list[str]) -> np.ndarray:
    rows = np.ones((len(texts), DIM), np.float32)
    rows[:, 0] = [len(text) for text in texts]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tokens(texts: list[str]) -> list[np.ndarray]:
    return [np.full((len(text.split()), TOKEN_DIM), len(text), np.int8) for text in texts]


def main(way: str) -> None:
    replies = become_child()
    print("a library prints", flush=True)
    os.system("echo a library of C prints")
    if way == "dies-at-start":
        sys.exit("no room for the weights")
    while isinstance(request := read_frame(sys.stdin.buffer), Request):
        if way == "hangs":
            time.sleep(600)
        if "die" in request.texts:
            os.kill(os.getpid(), 9)
        if "babble" in request.texts:
            replies.write(b"\xff" * 64)
        if "half" in request.texts:
            replies.write((1000).to_bytes(4) + b"half a frame")
            os._exit(3)
        if "fault" in request.texts:
            write_frame(replies, Fault("ProviderError", "embedding failed (MemoryError)"))
            continue
        print("another line in the way")
        short = request.texts[1:] if "short" in request.texts else request.texts
        write_frame(replies, Vectors.of(Embedded(vectors(short), tokens(short))))


if __name__ == "__main__":
    main(sys.argv[1])
