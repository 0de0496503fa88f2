"""Blocks of every format and what other programs decode them to; see quant.origin.

    pip install -r tools/reference/requirements.txt
    python3 tools/reference/quant_blocks.py FOLDER [BLOCKS [GGML_DECODE]]

writes NAME.blocks and NAME.f32 for each format, with 14 blocks each unless told; what the package
`gguf` cannot decode is decoded by GGML_DECODE, the program of quant_decode.c. The files in
tests/differential/quant were made so. With a larger number, check the result by

    build/tests/differential/quant --folder FOLDER
"""
import pathlib
import subprocess
import sys

import gguf
import numpy as np

# where the f16 are; bytes a block, elements a block and id where the package has none
HALVES = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
    "MXFP4": [], "NVFP4": [], "Q1_0": [0], "Q2_0": [0],
}
SIZES = {"Q1_0": (18, 128, 41), "Q2_0": (18, 64, 42)}
# zero, denormals, the least normal, the largest, infinity, NaN, one; of both signs
EXTREME = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00]
E8M0 = [0, 1, 2, 127, 128, 252, 253, 254, 255]
UE4M3 = [0x00, 0x01, 0x07, 0x08, 0x7E, 0x7F, 0x80, 0xFF, 0xFE, 0x38, 0x81, 0x3F]


def random_blocks(name, n_blocks, n_bytes, random):
    blocks = random.integers(0, 256, (n_blocks, n_bytes), dtype=np.uint8)
    for i in range(n_blocks):
        for at in HALVES[name]:
            if i < len(EXTREME):
                half = EXTREME[(i + at) % len(EXTREME)]
            elif i % 2:
                half = int(np.float16(random.normal() * 0.01).view(np.uint16))
            else:
                half = int(random.integers(0, 65536))
            blocks[i, at : at + 2] = np.frombuffer(np.uint16(half).tobytes(), np.uint8)
        if name == "MXFP4" and i < len(E8M0):
            blocks[i, 0] = E8M0[i]
        if name == "NVFP4" and i < len(UE4M3):
            blocks[i, :4] = [UE4M3[(i + k) % len(UE4M3)] for k in range(4)]
    return blocks


def main():
    folder = pathlib.Path(sys.argv[1])
    n_blocks = int(sys.argv[2]) if len(sys.argv) > 2 else 14
    random = np.random.default_rng(1)
    for name in HALVES:
        if name in SIZES:
            n_bytes, n_elements, number = SIZES[name]
        else:
            kind = gguf.GGMLQuantizationType[name]
            n_elements, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        blocks = random_blocks(name, n_blocks, n_bytes, random)
        blocks_path, values_path = folder / f"{name.lower()}.blocks", folder / f"{name.lower()}.f32"
        blocks_path.write_bytes(blocks.tobytes())
        if name in SIZES:
            subprocess.run([sys.argv[3], str(number), str(n_blocks * n_elements), blocks_path, values_path], check=True)
            continue
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(blocks, kind).astype("<f4")
        values_path.write_bytes(values.tobytes())


main()
