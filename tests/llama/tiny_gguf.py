"""Random language models of half a megabyte: the worst models that a server can load.

``byte`` writes any bytes (hostile: its server often fails to parse its own answer), ``ascii`` any
printable characters (incompetent: well-formed nonsense). Both have a chat template, and nothing
else.
"""

from pathlib import Path
from typing import Literal

import gguf
import numpy as np

Letters = Literal["byte", "ascii"]
WIDTH, LAYERS, HEADS, KEY_HEADS = 64, 2, 4, 2
CONTEXT = 4096
PAIRS = ["th", "he", "in", "er", "an"]  # merged: a vocabulary of bytes alone is not loaded
MARKS = ["<|begin|>", "<|end|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LOUD, SILENCED = 6.0, -60.0


def byte_letters() -> list[str]:
    """Map each byte to the printable character of byte-level vocabularies."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(spare)) for byte in range(256)]


def write_model(path: Path, letters: Letters, seed: int = 0) -> None:
    """Write a model as GGUF.

    In channel 0 every token has the same large value, and no layer changes it: the output layer
    uses it to suppress what ``ascii`` must not write.
    """
    vocabulary = byte_letters() + PAIRS + MARKS
    size = len(vocabulary)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"tiny-{letters}")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary)
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    writer.add_token_types([normal] * (size - len(MARKS)) + [control] * len(MARKS))
    writer.add_token_merges([" ".join(pair) for pair in PAIRS])
    writer.add_bos_token_id(size - len(MARKS))
    writer.add_eos_token_id(size - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, weights in _weights(size, letters, seed).items():
        writer.add_tensor(f"{name}.weight", weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _weights(size: int, letters: Letters, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def drawn(rows: int, columns: int) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * 1.2 / np.sqrt(columns)).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    embedding, output = drawn(size, WIDTH), drawn(size, WIDTH)
    embedding[:, 0], output[:, 0] = LOUD, 0.0
    if letters == "ascii":
        unprintable = [byte for byte in range(256) if not 32 <= byte < 127 and byte != 10]
        output[[*unprintable, *range(size - len(MARKS), size - 1)], 0] = SILENCED
    weights = {"token_embd": embedding, "output_norm": ones, "output": output}
    keys, wide = WIDTH // HEADS * KEY_HEADS, 4 * WIDTH
    for layer in range(LAYERS):
        parts = {
            "attn_norm": ones,
            "attn_q": drawn(WIDTH, WIDTH),
            "attn_k": drawn(keys, WIDTH),
            "attn_v": drawn(keys, WIDTH),
            "attn_output": drawn(WIDTH, WIDTH),
            "ffn_norm": ones,
            "ffn_gate": drawn(wide, WIDTH),
            "ffn_up": drawn(wide, WIDTH),
            "ffn_down": drawn(WIDTH, wide),
        }
        parts["attn_output"][0] = parts["ffn_down"][0] = 0.0
        weights |= {f"blk.{layer}.{name}": part for name, part in parts.items()}
    return weights
