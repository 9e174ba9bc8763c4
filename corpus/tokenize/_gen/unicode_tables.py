#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write ../unicode_gen.go by asking the reference tokenizer about every code point.

The reference's Unicode tables are neither Go's nor Python's, so nothing here
comes from a Unicode database: each property is what the reference does to a
string that holds the code point.

    python3 unicode_tables.py            # rewrite the Go file
    python3 unicode_tables.py --check    # exit 1 when the Go file differs
"""

import json

from tokenizers import Tokenizer, normalizers, pre_tokenizers

from tables import LIMIT, code_points, generate, rows, two_stage

HANGUL = range(0xAC00, 0xAC00 + 11172)

# Bits of a property record; unicode.go repeats them.
DROP, SPACE, PUNCT, CJK, MARK, LOWER, DECOMP, WORD = (1 << i for i in range(8))


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**flags, **on}).normalize_str


def added(**flags):
    """A tokenizer with one added token, for probing its flags."""
    data = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 1, "content": "\ue000\ue001", "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": False, **flags}],
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0}},
    }
    return Tokenizer.from_str(json.dumps(data))


def probe():
    clean, cjk = bert(clean_text=True), bert(handle_chinese_chars=True)
    accents, lower = bert(strip_accents=True), bert(lowercase=True)
    nfd = normalizers.NFD().normalize_str
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    single, lstrip = added(single_word=True), added(lstrip=True)

    flags, lowered, decomposed = [0] * LIMIT, {}, {}
    for c in code_points():
        s, f = chr(c), 0
        got = clean(s)
        if got == "":
            f |= DROP
        elif got != s or s == " ":
            assert got == " ", hex(c)
            f |= SPACE
        pieces = [p for p, _ in split("a" + s + "a")]
        if pieces == ["a", "a"]:
            # White space for the pre-tokenizer; clean_text drops a few of these first.
            f |= SPACE
        elif pieces == ["a", s, "a"]:
            f |= PUNCT
        else:
            assert pieces == ["a" + s + "a"] and not f & SPACE, hex(c)
        got = cjk(s)
        if got != s:
            assert got == " " + s + " ", hex(c)
            f |= CJK
        got = nfd(s)
        if c in HANGUL:
            i = c - HANGUL.start
            want = chr(0x1100 + i // 588) + chr(0x1161 + i % 588 // 28) + (chr(0x11A7 + i % 28) if i % 28 else "")
            assert got == want, hex(c)
        elif got != s:
            decomposed[c] = [ord(x) for x in got]
            f |= DECOMP
        elif accents(s) == "":
            f |= MARK
        else:
            assert accents(s) == s, hex(c)
        got = lower(s)
        if got != s:
            lowered[c] = [ord(x) for x in got]
            f |= LOWER
        # A \w neighbour makes a single_word token no match.
        if 1 not in single.encode(s + "\ue000\ue001").ids:
            f |= WORD
        # lstrip swallows \s, which must be the same set as SPACE.
        start = next(o[0] for i, o in zip(*(lambda e: (e.ids, e.offsets))(lstrip.encode(s + "\ue000\ue001"))) if i == 1)
        assert (start == 0) == bool(f & SPACE), hex(c)
        flags[c] = f

    for c, parts in decomposed.items():
        want = "".join(chr(p) for p in parts if not flags[p] & MARK)
        assert accents(chr(c)) == want, hex(c)
        assert all(nfd(chr(p)) == chr(p) for p in parts), hex(c)
    return flags, lowered, decomposed, order_ranks(nfd, flags)


def order_ranks(nfd, flags):
    """Rank of the canonical combining class of each code point, 0 for starters.

    A pair x, y comes out as y, x exactly when class(x) > class(y) > 0, so sorting
    non-starters by how many others they are moved behind gives the ranks.
    """
    below, above = "\u0334", "\u0345"  # lowest and highest class in use
    behind = lambda x, y: nfd(x + y) == y + x and x != y
    moved = []
    for c in code_points():
        s = chr(c)
        if c in HANGUL or nfd(s) != s:
            continue
        if behind(s, below) or behind(above, s):
            moved.append(s)
    moved += [s for s in (below, above) if s not in moved]
    # Representatives: one per class, kept in order by insertion.
    reps = []
    for s in moved:
        lo = sum(1 for r in reps if behind(s, r))
        if lo < len(reps) and not behind(reps[lo], s):
            continue
        reps.insert(lo, s)
    ranks = {}
    for s in moved:
        ranks[ord(s)] = 1 + sum(1 for r in reps if behind(s, r))
    # unicode.go relies on this: what can be reordered is an ordinary word character.
    for c in ranks:
        assert not flags[c] & (SPACE | PUNCT | CJK | LOWER | DECOMP), hex(c)
    return ranks


def render():
    flags, lowered, decomposed, ranks = probe()
    single = {c: v[0] for c, v in lowered.items() if len(v) == 1}
    many = {c: v for c, v in lowered.items() if len(v) > 1}
    assert many == {0x130: [0x69, 0x307]}, many

    # Property records: flags, rank, distance to the lower case letter.
    records, index, props = [(0, 0, 0)], {(0, 0, 0): 0}, []
    for c in range(LIMIT):
        key = (flags[c], ranks.get(c, 0), single.get(c, c) - c)
        if key not in index:
            index[key] = len(records)
            records.append(key)
        props.append(index[key])
    first, second = two_stage(props, 7)

    runes, starts, number = [], [], [0] * LIMIT
    for k, (c, parts) in enumerate(sorted(decomposed.items())):
        number[c] = k + 1
        starts.append(len(runes))
        runes += parts
    starts.append(len(runes))
    dfirst, dsecond = two_stage(number, 6)
    used = max(i for i, v in enumerate(dfirst) if v) + 1
    dfirst = dfirst[:used]

    assert max(first) < 1 << 16 and max(dfirst) < 1 << 8 and len(records) < 1 << 16
    body = "// Property records: flags, rank of the combining class, distance to lower case.\n"
    body += "var unicodeProps = [...]property{\n"
    body += "".join("\t{0x%02x, %d, %d},\n" % r for r in records) + "}\n\n"
    body += "// Block of 128 code points by code point >> 7.\nvar unicodeBlocks = [...]uint16{\n" + rows(first) + "}\n\n"
    body += "// Record number by block << 7 | code point & 127.\nvar unicodeRecords = [...]uint16{\n" + rows(second, 64) + "}\n\n"
    body += "// Block of 64 code points by code point >> 6; beyond it nothing decomposes.\n"
    body += "var decompBlocks = [...]uint8{\n" + rows(dfirst, 64) + "}\n\n"
    body += "// 1 + number of the decomposition by block << 6 | code point & 63; 0 where there is none.\n"
    body += "var decompNumbers = [...]uint16{\n" + rows(dsecond, 64) + "}\n\n"
    body += "// Start of decomposition n in decompRunes; it ends where the next begins.\n"
    body += "var decompStarts = [...]uint16{\n" + rows(starts, 64) + "}\n\n"
    body += "var decompRunes = [...]rune{\n" + rows(["0x%x" % r for r in runes], 24) + "}\n"
    return body


if __name__ == "__main__":
    generate("unicode", __doc__, render)
