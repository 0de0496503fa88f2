"""Blocks and what the Python package `gguf` decodes them to; see quant.origin.

    pip install gguf==0.19.0 numpy && python3 make.py [folder [blocks per format]]

Without arguments it rewrites the files beside it. With a larger number, check the result by
    build/tests/differential/quant --folder FOLDER
"""
import pathlib
import sys

import gguf
import numpy as np

HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_K": [0, 2], "Q6_K": [208]}  # where the f16 are
EXTREME = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    n_blocks = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    random = np.random.default_rng(1)
    for name, halves in HALVES.items():
        kind = gguf.GGMLQuantizationType[name]
        _, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (n_blocks, n_bytes), dtype=np.uint8)
        for i in range(n_blocks):
            for at in halves:
                if i < len(EXTREME):
                    half = EXTREME[(i + at) % len(EXTREME)]
                elif i % 2:
                    half = int(np.float16(random.normal() * 0.01).view(np.uint16))
                else:
                    half = int(random.integers(0, 65536))
                blocks[i, at : at + 2] = np.frombuffer(np.uint16(half).tobytes(), np.uint8)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(blocks, kind).astype("<f4")
        (folder / f"{name.lower()}.blocks").write_bytes(blocks.tobytes())
        (folder / f"{name.lower()}.f32").write_bytes(values.tobytes())


main()
