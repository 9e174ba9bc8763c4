#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write what the reference makes of texts with normalisers, pre-tokenizers of the
Unigram family and added tokens that are matched after normalisation.

    python3 normal_goldens.py

reads   testdata/xlmr-like-unigram.tokenizer.json
        testdata/bert-cased-wordpiece.tokenizer.json
writes  testdata/normalizers.json: settings, texts and normalised texts
        testdata/unigram.json: settings over the first, texts and ids
        testdata/late.json: settings over the second, texts and ids

A charsmap "@" stands for that of the tokenizer read.
"""

import base64
import copy
import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import Tokenizer

from normal_tables import charsmap

WANT = "0.23.3"
DATA = pathlib.Path(__file__).resolve().parent.parent / "testdata"
BASE = json.loads((DATA / "xlmr-like-unigram.tokenizer.json").read_text(encoding="utf-8"))
CHARSMAP = BASE["normalizer"]["normalizers"][0]["precompiled_charsmap"]

SPACES = [" ", " ", "  ", "   ", "\t", "\n", "\r\n", "\v", "\f", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff"]
MARKS = [0x300, 0x301, 0x302, 0x304, 0x308, 0x316, 0x323, 0x327, 0x338, 0x340, 0x341, 0x343, 0x344, 0x345, 0x5b0, 0x64b, 0x93c, 0x94d,
         0x9be, 0xe38, 0xf71, 0x1dfa, 0x8d3, 0x302f, 0x3099, 0x1d165, 0x20e3, 0xfe0f, 0x200d, 0x200c, 0x1f3fd, 0x903, 0x11938]
WORDS = ["The", "reader", "of", "a", "PIPE", "unaffordable", "io.Writer", "x1", "don't", "``quoted''", "fmt.Println(\"hi\")", "3.14",
         "caf\u00e9", "na\u00efve", "\ufb01ne", "\u212bngstr\u00f6m", "\ufdfa", "\u00bd", "\u2460", "\uff26\uff35\uff2c\uff2c", "\uff76\uff9e", "\u304b\u3099",
         "\uac00\u11a8", "\u1100\u1161\u11a8", "\uac01", "\u0928\u094d\u091c", "\u0915\u094d\u0958\u0301", "\u0600a", "\u06dd1", "\u00a9\u200d\u00a9\u0301",
         "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F1E9\U0001F1EA", "\u0130\u0131", "\u03a3\u03c2", "\u01c5", "\u1e9b\u0323", "\u2260", "\u226e",
         "\u0387", "\ufb1d", "\u0344", "\u4f60\u597d", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u2581", "\u2581a", "a\u2581\u2581b", "<s>", "<unk>", " <mask>", "<mask>x",
         "\x00", "\x01", "\x7f", "\u0090", "\ufffd", "\u00ad", "\u0378", "\ue000", "\U0010ffff"]


def kind(name):
    return {"type": name}


def sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def replace(form, pattern, by):
    return {"type": "Replace", "pattern": {form: pattern}, "content": by}


def strip(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def bert(clean, cjk, accents, lower):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": cjk, "strip_accents": accents, "lowercase": lower}


MAP = {"type": "Precompiled", "precompiled_charsmap": "@"}
# Marks that have an image, spaces and prepended characters that have one.
ODD = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(
    ["e", "\u0301", "\u0600", "\u00e9", "\u0915", "\u1100", "\u00a9", "\u1161", "\r", " "])).decode()}
TWO, MARKED = replace("Regex", " {2,}", " "), replace("Regex", " {2,}", "\u2581")

NORMALIZERS = [kind(k) for k in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")] + [
    strip(True, True), strip(True, False), strip(False, True), TWO, MARKED, replace("Regex", "\\s+", " "), replace("Regex", "\\s+", ""),
    replace("Regex", "ab", "x"), replace("String", " ", "\u2581"), replace("String", "``", "\""), {"type": "Prepend", "prepend": "\u2581"},
    bert(True, True, None, True), bert(False, True, False, True), MAP, ODD, sequence(), sequence(MAP, TWO), sequence(MAP, strip(False, True), MARKED),
    sequence(replace("String", "``", "\""), kind("NFKD"), kind("StripAccents"), kind("Lowercase"), MAP, TWO),
    sequence(kind("NFD"), ODD, kind("NFC"), strip(True, True)), sequence(sequence(kind("Lowercase"), kind("NFD")), kind("StripAccents"))]


def metaspace(scheme="always", split=True, **more):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split, **more}


def both(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def token(number, content, **flags):
    return dict(dict(id=number, content=content, single_word=False, lstrip=False, rstrip=False, normalized=True, special=False), **flags)


def pipelines():
    """Settings over the tokenizer read, by name."""
    cut, words, size = kind("WhitespaceSplit"), kind("Whitespace"), len(BASE["model"]["vocab"])
    late = BASE["added_tokens"][:4] + [dict(BASE["added_tokens"][4], normalized=True), token(size, "Caf\u00e9"), token(size + 1, "wordy", single_word=True), token(size + 2, "[X]")]
    yield "xlm-r", dict(normalizer=sequence(MAP, TWO), pre_tokenizer=both(cut, metaspace()))
    yield "t5", dict(normalizer=MAP, pre_tokenizer=both(cut, metaspace()))
    yield "sentencepiece", dict(normalizer=sequence(MAP, strip(False, True), MARKED), pre_tokenizer=metaspace())
    yield "first", dict(normalizer=sequence(MAP, strip(False, True), MARKED), pre_tokenizer=metaspace("first"))
    yield "never", dict(normalizer=sequence(MAP, TWO), pre_tokenizer=metaspace("never", add_prefix_space=False))
    yield "unmerged", dict(normalizer=MAP, pre_tokenizer=metaspace())
    yield "unsplit", dict(normalizer=MAP, pre_tokenizer=metaspace(split=False))
    yield "albert", dict(normalizer=NORMALIZERS[-3], pre_tokenizer=metaspace())
    yield "deberta", dict(normalizer=sequence(strip(True, True), MAP, TWO), pre_tokenizer=metaspace())
    yield "stripped", dict(normalizer=sequence(MAP, strip(True, True), TWO), pre_tokenizer=metaspace())
    yield "nmt", dict(normalizer=sequence(kind("Nmt"), kind("NFKC"), TWO), pre_tokenizer=metaspace())
    yield "kept mark", dict(normalizer=sequence(kind("NFC"), TWO), pre_tokenizer=metaspace())
    yield "any space", dict(normalizer=replace("Regex", "\\s+", " "), pre_tokenizer=metaspace())
    yield "odd", dict(normalizer=ODD, pre_tokenizer=both(cut, metaspace("never")))
    yield "words", dict(normalizer=kind("NFC"), pre_tokenizer=both(words, metaspace()))
    yield "cut alone", dict(normalizer=bert(True, True, None, True), pre_tokenizer=cut)
    yield "nothing", dict(normalizer=None, pre_tokenizer=None)
    yield "whole", dict(normalizer=sequence({"type": "Prepend", "prepend": "\u2581"}, replace("String", " ", "\u2581")), pre_tokenizer=None)
    yield "late tokens", dict(normalizer=sequence(MAP, TWO), pre_tokenizer=both(cut, metaspace()), added_tokens=late)
    yield "late tokens, unmerged", dict(normalizer=MAP, pre_tokenizer=metaspace(), added_tokens=late)
    rnd = random.Random("pieces")
    pieces = sorted(set("".join(rnd.choice("aabcdenor\u2581.\u00e9") for _ in range(rnd.randrange(1, 5))) for _ in range(300)) | set("abcdenor"))
    for name, score, more in (
            ("ties", lambda: -float(rnd.randrange(1, 5)), []), ("floats", lambda: -rnd.random() * 12, ["\u4f60\u597d", "\u0440\u0438"]),
            ("positive", lambda: rnd.random() * 30, ["xx", "xxx", "\u4f60\u597d"]), ("bytes", lambda: -rnd.random() * 9, ["<0x%02X>" % b for b in range(256) if b != 0xE3])):
        vocab = [["<s>", 0], ["<unk>", 0.0]] + [[p, score()] for p in pieces + more]
        yield name, dict(normalizer=sequence(MAP, TWO), pre_tokenizer=both(cut, metaspace()), added_tokens=[],
                         model={"type": "Unigram", "unk_id": 1, "vocab": vocab, "byte_fallback": name == "bytes"})


def late():
    """Settings of WordPiece with added tokens that are matched after normalisation."""
    base = json.loads((DATA / "bert-cased-wordpiece.tokenizer.json").read_text(encoding="utf-8"))
    for name, normal, more in (
            ("uncased", bert(True, True, None, True), []), ("cased", bert(True, True, None, False), []), ("as it is", bert(False, False, False, False), []),
            ("accents", bert(True, True, False, True), []), ("stripped", bert(False, True, True, False), []),
            ("space", bert(True, True, None, True), [("new word", {}), ("\u9f98", {})]), ("left", bert(True, True, None, True), [("<left>", {"lstrip": True})]),
            ("right", bert(True, True, None, True), [("<right>", {"rstrip": True})])):
        tokens = [("Caf\u00e9", {}), ("[X]", {}), ("<tok>", {}), ("covidx", {"single_word": True}), ("=>", {}), ("k9", {}), ("x.y", {})] + more
        size = len(base["model"]["vocab"])
        yield name, dict(base, normalizer=normal, truncation=None, padding=None, post_processor=None, added_tokens=base["added_tokens"] + [
            token(size + i, content, **flags) for i, (content, flags) in enumerate(tokens)])


LATE = ["cafe", "CAFE\u0301", "caf\u00e9", "[x]", "[X]", "<tok>", "<TOK>", "\u226etok>", "<to\u0301k>", "<\x01tok>", "[\u0300X]", "covidx", "xcovidx", "=>", "\u2260>",
        "=\u0338>", "K9", "\u212a9", "k9", "x.y", "X\u0301.y", "new word", "NEW  word", "new\tword", "\u9f98", " <left>", "\u3000 <left> ", "<right> ", "<RIGHT>\u3000"]


def texts(seed, count):
    rnd, out = random.Random(seed), []
    for _ in range(count):
        parts = []
        for _ in range(rnd.choice([1, 2, 3, 5, 9])):
            k = rnd.randrange(9)
            if k < 2:
                parts.append(rnd.choice(SPACES))
            elif k < 5:
                parts.append(rnd.choice(WORDS) + rnd.choice(["", " "]))
            elif k == 5:
                parts.append(rnd.choice("aeoc ") + "".join(chr(rnd.choice(MARKS)) for _ in range(rnd.randrange(1, 4))))
            elif k == 6:
                c = rnd.choice([rnd.randrange(0x600), rnd.randrange(0xD800), rnd.randrange(0xE000, 0x20000)])
                parts.append(chr(c))
            else:
                parts.append("".join(rnd.choice("abcdeno xX.") for _ in range(rnd.choice([1, 4, 9, 17, 33]))))
        out.append("".join(parts))
    return out + ["", " ", "   ", "caf\u00e9 Caf\u00e9 cafe\u0301 wordy words [X] \uff3bX]", " <mask> a<mask>b\t<mask>", "   \u0344\u200dx", " \u0340\u0341 \u0340\u0341\n\u0340\u0341", "\u0340\u0341a"]


def filled(value):
    """value with the charsmap in the place of its sign."""
    return json.loads(json.dumps(value).replace('"precompiled_charsmap": "@"', '"precompiled_charsmap": ' + json.dumps(CHARSMAP)))


def tokenizer(settings):
    t = copy.deepcopy(BASE)
    t.update(filled(settings), post_processor=None)
    return Tokenizer.from_str(json.dumps(t))


def write(name, value):
    (DATA / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    if tokenizers.__version__ != WANT:
        sys.exit("tokenizers %s is needed, found %s" % (WANT, tokenizers.__version__))
    list_ = [tokenizer({"normalizer": n}).normalizer for n in NORMALIZERS]
    rows = texts("normalizers", 160)
    write("normalizers.json", {"oracle": "tokenizers " + WANT, "normalizers": NORMALIZERS, "rows": [
        {"text": s, "normalized": [n.normalize_str(s) for n in list_]} for s in rows]})
    named = list(pipelines())
    list_ = [tokenizer(settings) for _, settings in named]
    rows = texts("unigram", 160)
    write("unigram.json", {"oracle": "tokenizers " + WANT, "pipelines": [{"name": n, "settings": s} for n, s in named], "rows": [
        {"text": s, "ids": [t.encode(s, add_special_tokens=False).ids for t in list_]} for s in rows]})
    named = list(late())
    list_ = [Tokenizer.from_str(json.dumps(t)) for _, t in named]
    rnd, rows = random.Random("late"), []
    for s in texts("late tokens", 120):
        for _ in range(rnd.randrange(4)):
            k = rnd.randrange(len(s) + 1)
            s = s[:k] + rnd.choice(["", " "]) + rnd.choice(LATE) + rnd.choice(["", " ", "a"]) + s[k:]
        rows.append(s)
    write("late.json", {"oracle": "tokenizers " + WANT, "tokenizers": [
        {"name": n, "settings": {k: t[k] for k in ("normalizer", "added_tokens")}} for n, t in named], "rows": [
            {"text": s, "ids": [t.encode(s, add_special_tokens=False).ids for t in list_]} for s in rows]})


if __name__ == "__main__":
    main()
