"""Blocks of q8_1 and q8_k and what ggml decodes them to.

    python tools/reference/quant_q8.py LIBGGML_BASE.so OUT_DIR

q8_k by ggml's own dequantize_row_q8_K; q8_1, for which ggml has no decoder, by that of q8_0 on
the same block without its sum.
"""
import ctypes
import os
import struct
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1])
N = 14
rng = np.random.default_rng(8)
HALVES = [0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x2C00, 0xA123]
FLOATS = [0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF,
          0x7F800000, 0xFF800000, 0x7FC00000, 0x3C000000, 0xBB123456]


def decode(name, blocks, n):
    out = np.empty(n, dtype=np.float32)
    fn = getattr(lib, name)
    fn(ctypes.c_char_p(blocks), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(n))
    return out


def save(name, blocks, values):
    with open(os.path.join(sys.argv[2], name + ".blocks"), "wb") as f:
        f.write(blocks)
    values.astype("<f4").tofile(os.path.join(sys.argv[2], name + ".f32"))


q81 = q80 = q8k = b""
for i in range(N):
    q = rng.integers(-128, 128, 32, dtype=np.int8).tobytes()
    d = struct.pack("<H", HALVES[i] if i < len(HALVES) else int(rng.integers(0x2000, 0x3000)))
    q81 += d + rng.bytes(2) + q
    q80 += d + q
    q = rng.integers(-128, 128, 256, dtype=np.int8).tobytes()
    d = struct.pack("<I", FLOATS[i] if i < len(FLOATS) else int(rng.integers(0x3A000000, 0x3D000000)))
    q8k += d + q + rng.bytes(32)
save("q8_1", q81, decode("dequantize_row_q8_0", q80, 32 * N))
save("q8_k", q8k, decode("dequantize_row_q8_K", q8k, 256 * N))
