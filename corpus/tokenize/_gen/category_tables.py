#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write ../category_gen.go by asking the reference's regex engine about every code point.

The pre-tokenizers of the byte-level families are regular expressions over general
categories. Which code point is a letter to the engine that the reference is built
with depends on that engine's Unicode version, so nothing here comes from a Unicode
database.

    python3 category_tables.py            # rewrite the Go file
    python3 category_tables.py --check    # exit 1 when the Go file differs
"""

from tokenizers import Regex, pre_tokenizers

from tables import LIMIT, code_points, generate, rows, two_stage

# Bits of a category; category.go repeats them.
CLASSES = [r"\p{L}", r"\p{N}", r"\s", r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"\p{M}"]
NUMERIC = 1 << len(CLASSES)


def left_by(split):
    """The code points that a pre-tokenizer that removes its matches leaves."""
    points, left = list(code_points()), set()
    for i in range(0, len(points), 4096):
        part = points[i:i + 4096]
        for _, (start, end) in split.pre_tokenize_str("".join(map(chr, part))):
            left.update(part[start:end])
    return left


def probe():
    flags = [0] * LIMIT
    for bit, regex in enumerate(CLASSES):
        left = left_by(pre_tokenizers.Split(Regex(regex), "removed"))
        for c in code_points():
            if c not in left:
                flags[c] |= 1 << bit
    # Digits goes by another library's idea of a number.
    digits = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    for c in code_points():
        if len(digits("a" + chr(c) + "a")) == 3:
            flags[c] |= NUMERIC
    letter, number, space, upper, lower, mark = (1 << i for i in range(len(CLASSES)))
    for c in code_points():
        f = flags[c]
        assert bin(f & (letter | number | space | mark)).count("1") <= 1, hex(c)
        assert not f & (upper | lower) or f & letter, hex(c)
        assert f & (upper | lower) != upper | lower, hex(c)
    # What (?i:'s|'t|'re|'ve|'m|'ll|'d) matches, beside ASCII: split.go names it.
    short = pre_tokenizers.Split(Regex("(?i:'s|'t|'re|'ve|'m|'ll|'d)"), "isolated").pre_tokenize_str
    ends = lambda s, n: short(s + "x")[0][1] == (0, n)
    assert [c for c in code_points() if ends("'" + chr(c), 2)] == sorted(map(ord, "DMSTdmst\u017f"))
    for first, second in ("r", "e"), ("v", "e"), ("l", "l"):
        assert [c for c in code_points() if ends("'" + first + chr(c), 3)] == sorted(map(ord, second.upper() + second))
        assert [c for c in code_points() if ends("'" + chr(c) + second, 3) and not ends("'" + chr(c), 2)] == sorted(
            ord(x) for f, s in (("r", "e"), ("v", "e"), ("l", "l")) if s == second for x in (f, f.upper()))
    return flags


def render():
    first, second = two_stage(probe(), 7)
    assert max(first) < 1 << 16
    body = "// Block of 128 code points by code point >> 7.\nvar categoryBlocks = [...]uint16{\n" + rows(first) + "}\n\n"
    body += "// Category by block << 7 | code point & 127.\nvar categoryRecords = [...]category{\n" + rows(second, 64) + "}\n"
    return body


if __name__ == "__main__":
    generate("category", __doc__, render)
