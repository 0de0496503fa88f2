"""Writes the seeds beside it: arrays that NumPy 2.4.6 made, in every element type, order and header version."""
import pathlib

import numpy as np

here = pathlib.Path(__file__).parent


def save(name, array, version=(1, 0)):
    with open(here / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)


for dtype in ["<f4", "<f8", "<f2", "<i4", "<i8", "|u1"]:
    save("c_" + dtype[1:], np.arange(6).reshape(2, 3).astype(dtype))
save("bool", np.array([True, False, True]))
save("scalar", np.float32(1.5))
save("empty", np.zeros((0, 3), "<f4"))
save("fortran", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
save("fortran_rank5", np.asfortranarray(np.arange(48, dtype="<i8").reshape(2, 1, 3, 2, 4)))
save("version2", np.arange(3, dtype="<f4"), (2, 0))
save("version3", np.arange(3, dtype="<f4"), (3, 0))
save("rank6", np.zeros((1,) * 6, "<f4"))
save("big_endian", np.arange(3, dtype=">f4"))
save("complex", np.arange(3, dtype="<c8"))
save("structured", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
save("unicode", np.array(["ab"]))
