#!/usr/bin/env python3
"""Prints the polynomial coefficients of src/kernels/simd/math_f32.h and normal.h, and of src/base/mathfn_tables.h.

Each polynomial is a weighted least-squares fit at Chebyshev-spaced points, in 60 digits, which is
within a factor of two of minimax. Coefficients are rounded one by one, lowest power first, and
the rest fitted again, so that rounding one is made good by the others.

    pip install mpmath && python3 tools/fit-math.py
"""
import struct
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, exp, expm1, log, erf, erfc, sqrt, sin

mp.dps = 60


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def solve(points, target, weight, powers):
    a = matrix(len(powers), len(powers))
    b = matrix(len(powers), 1)
    for x, t, w in zip(points, target, weight):
        row = [w * x**p for p in powers]
        for i, ri in enumerate(row):
            b[i] += ri * w * t
            for j, rj in enumerate(row):
                a[i, j] += ri * rj
    return list(lu_solve(a, b))


def fit(f, weight, low, high, degree, rounding, step=1, name=""):
    """f ~ sum c[i] x^(i * step), with weight(x) * error small."""
    n = 6 * (degree + 2)
    points = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    points = [x for x in points if abs(x) > mpf(10) ** -20]
    rest = [f(x) for x in points]
    weights = [weight(x) for x in points]
    fixed = []
    for i in range(degree + 1):
        c = rounding(solve(points, rest, weights, [step * p for p in range(i, degree + 1)])[0])
        fixed.append(c)
        rest = [r - c * x ** (step * i) for r, x in zip(rest, points)]
    worst = max(abs(r * w) for r, w in zip(rest, weights))
    print("/* %s: worst error %s, 2^%.1f */" % (name, mp.nstr(worst, 3), float(log(worst) / log(2))))
    for c in fixed:
        print("    %s," % as_text(c, rounding))
    return fixed


def as_text(c, rounding):
    digits, exponent = float(c).hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent + ("f" if rounding is f32 else "")


def parts(x, bits, count, name):
    """x as a sum of doubles, each but the last with `bits` significant bits."""
    out = []
    for i in range(count):
        if i == count - 1:
            out.append(f64(x))
        else:
            e = mp.floor(log(abs(x)) / log(2)) + 1 - bits
            out.append(mp.floor(x / mpf(2) ** e) * mpf(2) ** e)
        x -= out[-1]
    print("/* %s */ " % name + ", ".join(as_text(p, f64) for p in out))


ln2 = log(mpf(2))


def float_fits():
    half = ln2 / 2 * mpf("1.01")
    fit(lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / expm1(r), -half, half, 4, f32,
        name="f32 exp: e^r = 1 + r + r^2 q(r)")
    low, high = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
    fit(lambda f: (log(1 + f) - f + f * f / 2) / f**3, lambda f: f**3 / log(1 + f), low, high, 7, f32,
        name="f32 log: log(1+f) = f - f^2/2 + f^3 p(f)")
    edge = mpf("0.921875")
    fit(lambda x: (erf(x) - x) / x, lambda x: x / erf(x), mpf(0), edge, 6, f32, step=2,
        name="f32 erf: x + x p(x^2), x < 0.921875")
    # -log(erfc(x)) grows to 17 where erf rounds to one; what counts is erfc's absolute error.
    fit(lambda x: -log(erfc(x)) - x, lambda x: erfc(x), edge, mpf("3.95"), 8, f32,
        name="f32 erf: 1 - exp(-(x + p(x)))")


def normal_table():
    """Phi(t) - 1/2 around 3/16 k: a column of five coefficients for each k; the last is one half."""
    width = mpf(3) / 16
    columns = []
    for k in range(31):
        center = width * k
        columns.append(fit(lambda u: erf((center + u) / sqrt(mpf(2))) / 2, lambda u: mpf(1), -width / 2, width / 2, 4,
                           f32, name="f32 Phi - 1/2 around %s" % mp.nstr(center, 6)))
    columns[0] = [c if i % 2 else mpf(0) for i, c in enumerate(columns[0])]
    columns.append([mpf("0.5")] + [mpf(0)] * 4)
    for row in range(5):
        print("    {")
        for k in range(0, 32, 4):
            print("        " + ", ".join(as_text(columns[k + i][row], f32) for i in range(4)) + ",")
        print("    },")


def double_fits():
    half = ln2 / 2 * mpf("1.01")
    fit(lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / expm1(r), -half, half, 11, f64,
        name="f64 exp: e^r = 1 + r + r^2 q(r)")
    top = 3 - 2 * sqrt(mpf(2))  # s = f / (2 + f)
    fit(lambda s: (mp.atanh(s) * 2 - 2 * s) / s**3, lambda s: s**3 / (2 * s), mpf(0), top, 7, f64, step=2,
        name="f64 log: log(1+f) = 2s + s^3 r(s^2)")
    fit(lambda s: (mp.atanh(s) - s - s**3 / 3) / s**5, lambda s: s**4, mpf(0), top, 7, f64, step=2,
        name="f64 pow: atanh(s) = s + s^3/3 + s^5 r(s^2)")
    quarter = pi / 4 * mpf("1.01")
    fit(lambda x: (sin(x) - x) / x**3, lambda x: x**3 / sin(x), mpf(0), quarter, 6, f64, step=2,
        name="f64 sin: x + x^3 p(x^2)")
    fit(lambda x: (cos(x) - 1 + x**2 / 2) / x**4, lambda x: x**4 / cos(x), mpf(0), quarter, 6, f64, step=2,
        name="f64 cos: 1 - x^2/2 + x^4 p(x^2)")
    fit(lambda x: (erf(x) - x) / x, lambda x: x / erf(x), mpf(0), mpf("0.75"), 11, f64, step=2,
        name="f64 erf: x + x p(x^2), x < 0.75")
    for i in range(0, 11):
        center = mpf(1) + mpf(i) / 2
        fit(lambda x: erf(center + x), lambda x: mpf(1), mpf("-0.25"), mpf("0.25"), 13, f64,
            name="f64 erf around %s" % mp.nstr(center, 3))
    parts(ln2, 32, 2, "ln 2")
    parts(ln2, 40, 3, "ln 2 in three")
    parts(pi / 2, 33, 4, "pi / 2")
    parts(mpf(1) / 3, 53, 2, "1 / 3")
    parts(pi / 2, 53, 2, "pi / 2 in two")
    print("/* 2 / pi, 1216 bits after the point, most significant word first */")
    mp.dps = 420
    whole = int(mp.floor(2 / mp.pi * mpf(2) ** 1216))
    words = [(whole >> (1216 - 64 * (i + 1))) & (2**64 - 1) for i in range(19)]
    for w in words:
        print("    UINT64_C(0x%016x)," % w)


float_fits()
normal_table()
double_fits()
