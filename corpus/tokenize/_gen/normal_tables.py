#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write ../normal_gen.go by asking the reference tokenizer about every code point.

What the general normalisers (NFC, NFKC, StripAccents, Precompiled ...) need beside
the tables of unicode_tables.py. As there, nothing comes from a Unicode database:
each property is what the reference does to a string that holds the code point. It
mixes versions: normalisation and combining marks are those of about Unicode 9,
grapheme clusters those of Unicode 16.

    python3 normal_tables.py            # rewrite the Go file
    python3 normal_tables.py --check    # exit 1 when the Go file differs
"""

import struct

from tokenizers import normalizers

from tables import LIMIT, code_points, generate, rows, two_stage
from unicode_tables import HANGUL, order_ranks

# Bits of a record; normal_unicode.go repeats them.
COMBINING, NOT_NFD, NOT_NFC, NOT_NFKD, NOT_NFKC = (1 << i for i in range(5))
JOINS, EXTENDS, BREAKS, PREPENDS, PICTURE, CONSONANT, LINKER, CONJUNCT = (1 << i for i in range(5, 13))
SYLLABLE = 13  # three bits: 0, or one of
LEAD, VOWEL, TAIL, OPEN, CLOSED = range(1, 6)


def charsmap(keys):
    """A Precompiled charsmap that maps each of keys, single characters, to its IMAGE:
    the trie of SentencePiece, laid out without any economy."""
    root, images = {}, b""
    for k in keys:
        node = root
        for b in k.encode():
            node = node.setdefault(b, {})
        node[0] = len(images)
        images += IMAGE[k].encode() + b"\0"
    # The children of a node share a block of 256 units; block 0 is left to the root,
    # whose unit comes first and carries no label. Bit 9 says that an offset counts in
    # blocks, so the node's label stays in the low bits of where its children begin.
    blocks, units, at = [({}, 0), (root, 0)], {0: 1 << 10 | 1 << 9}, 0
    while at < len(blocks):
        children, base = blocks[at]
        for label, child in children.items():
            here = (at << 8 | base) ^ label
            if label == 0:
                units[here] = 1 << 31 | child  # the value
                continue
            units[here] = label | (at ^ len(blocks)) << 10 | 1 << 9 | (1 << 8 if 0 in child else 0)
            blocks.append((child, here & 255))
        at += 1
    array = [units.get(i, 0) for i in range(len(blocks) << 8)]
    return struct.pack("<%dI" % (len(array) + 1), 4 * len(array), *array) + images


ACUTE, SIGN, JOINER, L, V, T, KA, VIRAMA = "\u0301", "\u00a9", "\u200d", "\u1100", "\u1161", "\u11a8", "\u0915", "\u094d"
JAMO = [chr(c) for r in (range(0x1100, 0x1200), range(0xA960, 0xA980), range(0xD7B0, 0xD800), HANGUL) for c in r]


class Image(dict):
    """Numbers its keys by pairs of private characters."""

    def __missing__(self, key):
        self[key] = "\uf000" + chr(0x100000 + len(self))
        return self[key]


IMAGE = Image()


def clusters():
    """The bits of every code point that say how grapheme clusters join.

    Precompiled looks up a cluster of fewer than six bytes whole, and the image of what
    it begins with stands for all of it; in a longer one every character has its own.
    """
    normal = normalizers.Precompiled(charsmap(["a", ACUTE, SIGN, L, V, T, KA])).normalize_str

    def together(before, after, normal=normal):
        """before and after are in one cluster: it is long, and shows ACUTE."""
        got = normal(before + after + ACUTE)
        if got.endswith(IMAGE[after] + IMAGE[ACUTE]):
            return True
        assert got.endswith(IMAGE[after]) or got == IMAGE.get(before[0]), (before, after)
        return not got.endswith(IMAGE[after])

    out = [0] * LIMIT
    hangul = normalizers.Precompiled(charsmap(JAMO + [ACUTE])).normalize_str
    for c in code_points():
        s, f = chr(c), 0
        if normal("a" + s) == IMAGE["a"]:
            f |= JOINS
        elif s != "a":
            assert normal("a" + s).startswith(IMAGE["a"])
        if s != ACUTE and normal(s + ACUTE + "\u0302").endswith(IMAGE[ACUTE]):
            f |= BREAKS
        if together(s, "a"):
            f |= PREPENDS
        if f & JOINS:
            f |= EXTENDS if together(SIGN + s + JOINER, SIGN) else 0
            f |= LINKER if together(KA + s, KA) else 0
            f |= CONJUNCT if together(KA + VIRAMA + s, KA) and together(KA + s + VIRAMA, KA) else 0
        elif not f & (BREAKS | PREPENDS):
            f |= PICTURE if together(s + JOINER, SIGN) else 0
            f |= CONSONANT if together(s + VIRAMA, KA) else 0
            lead, vowel, tail = together(s, L), together(s, V), together(s, T)
            # What follows a vowel can only be asked of 3 bytes; no syllable has 4.
            kinds = {(False, False, False): 0, (True, True, False): LEAD, (False, True, True): VOWEL, (False, False, True): TAIL}
            kind = kinds[lead, vowel, tail]
            if kind == VOWEL and s in JAMO and not together(V, s, hangul):
                kind = OPEN
            if kind == TAIL and not together(T, s, hangul):
                kind = CLOSED
            f |= kind << SYLLABLE
        out[c] = f
    return out


def probe():
    forms = [f().normalize_str for f in (normalizers.NFD, normalizers.NFC, normalizers.NFKD, normalizers.NFKC)]
    nfd, nfc, nfkd, _ = forms
    accents = normalizers.StripAccents().normalize_str
    flags = clusters()
    canonical, compat = {}, {}
    for c in code_points():
        s = chr(c)
        if accents(s) == "":
            flags[c] |= COMBINING
        else:
            assert accents(s) == s, hex(c)
        if c in HANGUL:
            flags[c] |= NOT_NFD | NOT_NFKD
            assert [f(s) for f in forms] == [nfd(s), s, nfd(s), s], hex(c)
            continue
        for bit, f in zip((NOT_NFD, NOT_NFC, NOT_NFKD, NOT_NFKC), forms):
            if f(s) != s:
                flags[c] |= bit
        if nfd(s) != s:
            canonical[c] = nfd(s)
        if nfkd(s) != nfd(s):
            compat[c] = [ord(x) for x in nfkd(s)]

    # Pairs that compose, from what decomposes: the last part with the rest recomposed.
    pairs = {}
    for c, parts in canonical.items():
        first, second = nfc(parts[:-1]), parts[-1]
        if len(first) == 1 and nfc(first + second) == chr(c):
            pairs[ord(first), ord(second)] = c
        else:
            assert nfc(chr(c)) != chr(c), hex(c)
    seconds = {b for _, b in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in order_ranks(nfd, [0] * LIMIT):
        flags[c] |= NOT_NFD | NOT_NFC | NOT_NFKD | NOT_NFKC
    for c in seconds:
        flags[c] |= NOT_NFC | NOT_NFKC
    return flags, compat, pairs


def render():
    flags, compat, pairs = probe()
    first, second = two_stage(flags, 7)
    runes, starts, number = [], [], [0] * LIMIT
    for k, (c, parts) in enumerate(sorted(compat.items())):
        number[c] = k + 1
        starts.append(len(runes))
        runes += parts
    starts.append(len(runes))
    cfirst, csecond = two_stage(number, 6)
    assert max(first) < 1 << 16 and max(cfirst) < 1 << 8 and len(runes) < 1 << 16 and max(flags) < 1 << 16
    cfirst = cfirst[:max(i for i, v in enumerate(cfirst) if v) + 1]

    body = "// Block of 128 code points by code point >> 7.\nvar normalBlocks = [...]uint16{\n" + rows(first) + "}\n\n"
    body += "// Flags by block << 7 | code point & 127.\nvar normalRecords = [...]uint16{\n" + rows(second, 48) + "}\n\n"
    body += "// Block of 64 code points by code point >> 6; beyond it nothing has a compatibility decomposition of its own.\n"
    body += "var compatBlocks = [...]uint8{\n" + rows(cfirst, 64) + "}\n\n"
    body += "// 1 + number of the decomposition by block << 6 | code point & 63; 0 where there is none.\n"
    body += "var compatNumbers = [...]uint16{\n" + rows(csecond, 64) + "}\n\n"
    body += "// Start of decomposition n in compatRunes; it ends where the next begins.\n"
    body += "var compatStarts = [...]uint16{\n" + rows(starts, 64) + "}\n\n"
    body += "var compatRunes = [...]rune{\n" + rows(["0x%x" % r for r in runes], 24) + "}\n\n"
    body += "// Two code points and the one that they compose to.\nvar composePairs = [...][3]rune{\n"
    body += rows(["{0x%x, 0x%x, 0x%x}" % (a, b, c) for (a, b), c in sorted(pairs.items())], 8) + "}\n"
    return body


if __name__ == "__main__":
    generate("normal", __doc__, render)
