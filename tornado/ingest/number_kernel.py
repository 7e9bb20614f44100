"""The float64 nearest to a decimal number.

Source: Clinger, PLDI 1990, for few digits; Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51,
2021, section 5, for all others: the product of the digits and a power of five of 128 bits decides the rounding, or says that it cannot.
"""

import numba as nb
import numpy as np

FIRST_POWER = -342
LAST_POWER = 308
MOST_DIGITS = 19  # that fit 64 bits whatever they are
EXACT = np.uint64(1 << 53)
LOW_HALF = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ONE = np.uint64(1)
PRODUCT_MASK = np.uint64((1 << 9) - 1)  # the bits of a product that are below what decides
TENS = 10.0 ** np.arange(23)
BIAS = 1023
TWOS = np.ldexp(
    1.0, np.arange(2 * BIAS + 1) - BIAS - 52
)  # what the whole mantissa of a number is multiplied by


@nb.njit(cache=True)
def multiply(a, b):
    """The 128 bits of a product: the upper and the lower 64."""
    a_low, a_high = a & LOW_HALF, a >> HALF
    b_low, b_high = b & LOW_HALF, b >> HALF
    low, high = a_low * b_low, a_high * b_high
    cross = a_low * b_high
    middle = a_high * b_low + (low >> HALF) + (cross & LOW_HALF)
    return high + (middle >> HALF) + (cross >> HALF), (middle << HALF) | (low & LOW_HALF)


@nb.njit(cache=True)
def leading_zeros(bits):
    """How many bits of a number that is not 0 are before the first that is set."""
    count = 0
    for width in (32, 16, 8, 4, 2, 1):
        if bits >> np.uint64(64 - width) == np.uint64(0):
            bits <<= np.uint64(width)
            count += width
    return count


@nb.njit(cache=True)
def nearest(digits, exponent, powers):
    """The float64 nearest to ``digits * 10**exponent``; -1 where it is not decided here: near the ends of the range.

    Parameters
    ----------
    digits : uint64
        Not 0.
    powers : uint64[2 n]
        See `point_tokenizer.POWERS_OF_FIVE`.
    """
    if exponent < FIRST_POWER or exponent > LAST_POWER:
        return -1.0
    shift = leading_zeros(digits)
    digits <<= np.uint64(shift)
    row = exponent - FIRST_POWER
    high, low = multiply(digits, powers[2 * row])
    if high & PRODUCT_MASK == PRODUCT_MASK:
        more, _ = multiply(digits, powers[2 * row + 1])
        low += more
        if more > low:
            high += ONE
    upper = np.int64(high >> np.uint64(63))
    cut = np.uint64(upper + 9)
    mantissa = high >> cut
    power = (((152170 + 65536) * exponent) >> 16) + 63 + upper - shift + BIAS
    if power <= 0 or power >= 2 * BIAS:
        return -1.0
    # Half way between two numbers: the even one.
    if low <= ONE and -4 <= exponent <= 23 and (mantissa & np.uint64(3)) == ONE and mantissa << cut == high:
        mantissa &= ~ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >= np.uint64(1 << 53):
        mantissa = np.uint64(1 << 52)
        power += 1
    return np.float64(np.int64(mantissa)) * TWOS[power]


@nb.njit(cache=True)
def read_number(data, at, stop, powers):
    """The number that begins at a place: where it ends, and its value; -1 where only Python should look.

    Parameters
    ----------
    data : uint8[n]
        A number is an optional sign, digits with at most one point, and an exponent of at most four digits.
    """
    negative = False
    if at < stop and (data[at] == 45 or data[at] == 43):
        negative = data[at] == 45
        at += 1
    digits = np.uint64(0)
    taken = 0
    exponent = 0
    is_cut = False
    first = at
    while at < stop:
        digit = np.uint64(data[at]) - np.uint64(48)
        if digit > np.uint64(9):
            break
        if taken < MOST_DIGITS:
            digits = digits * np.uint64(10) + digit
            taken += 1 if digits != np.uint64(0) else 0
        else:
            exponent += 1
            is_cut |= digit != np.uint64(0)
        at += 1
    seen = at - first
    if at < stop and data[at] == 46:
        at += 1
        first = at
        while at < stop:
            digit = np.uint64(data[at]) - np.uint64(48)
            if digit > np.uint64(9):
                break
            if taken < MOST_DIGITS:
                digits = digits * np.uint64(10) + digit
                taken += 1 if digits != np.uint64(0) else 0
                exponent -= 1
            else:
                is_cut |= digit != np.uint64(0)
            at += 1
        seen += at - first
    if seen == 0:
        return -1, 0.0
    if at < stop and (data[at] == 101 or data[at] == 69):
        at += 1
        is_small = False
        if at < stop and (data[at] == 45 or data[at] == 43):
            is_small = data[at] == 45
            at += 1
        written = 0
        first = at
        while at < stop and 48 <= data[at] <= 57:
            written = written * 10 + (data[at] - 48)
            at += 1
            if at - first > 4:
                return -1, 0.0
        if at == first:
            return -1, 0.0
        exponent += -written if is_small else written
    value = 0.0
    if digits <= EXACT and -22 <= exponent <= 22:
        value = np.float64(np.int64(digits))
        value = value / TENS[-exponent] if exponent < 0 else value * TENS[exponent]
    elif digits != np.uint64(0):
        value = nearest(digits, exponent, powers)
        # What was cut off lies between these digits and the next.
        if value < 0.0 or (is_cut and nearest(digits + ONE, exponent, powers) != value):
            return -1, 0.0
    return at, -value if negative else value
