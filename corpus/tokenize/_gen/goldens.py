#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write the uncased tokenizer of ../testdata and what the reference makes of texts.

    python3 goldens.py

reads   testdata/bert-cased-wordpiece.tokenizer.json and its golden
writes  testdata/bert-uncased-wordpiece.tokenizer.json: its vocabulary in lower
        case without accents, every added-token flag, truncation and padding set
        testdata/bert-{cased,uncased}-wordpiece.hostile.json: texts and ids
        testdata/bert-uncased-wordpiece.golden.json: as the cased golden
"""

import copy
import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import Tokenizer, normalizers

WANT = "0.23.3"
DATA = pathlib.Path(__file__).resolve().parent.parent / "testdata"

SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[CLS", "CLS]", "[[CLS]]", "[cls]", "<left>", "<right>", "<both>", "<word>", "<",
           "x<word>", "<word>y", "\u00e9<word>", "\u0301<word>", "\ufffd", "\x00", "\ufeff", "\u200d"]
SCRIPTS = ["\u041f\u0440\u0438\u0432\u0435\u0442", "\u0645\u0631\u062d\u0628\u0627", "\u0939\u093f\u0928\u094d\u0926\u0940",
           "\ud55c\uad6d\uc5b4", "\u6771\u4eac\u90fd", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u03c3\u03c2", "\u0130stanbul \u0131I",
           "\u01c5", "\ufb00", "\u1e9b\u0323", "\u212b \u212a", "\u00bd", "\uff26\uff35", "\u00df \u1e9e", "\u2260\u226e", "\u1fef\u037e",
           "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F3FD", "\U00010400", "\u0378", "\ue000", "\u1c89", "\U00010D50"]
WORDS = ["The", "reader", "PIPE", "unaffordable", "DescribeInstances", "io.Writer", "x1", "sha256", "Error", "goroutine's", "a" * 99,
         "a" * 100, "a" * 101, "\u00e9" * 100, "\u00e9" * 101, "\uac01" * 33, "\uac01" * 34, "don't", "func", "return", "nil"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\v", "\f", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u1680", "\u202f", " " * 70]


def uncased(cased):
    t = copy.deepcopy(cased)
    lower = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=True).normalize_str
    special = [a["content"] for a in cased["added_tokens"]]
    vocab = {s: i for i, s in enumerate(special)}
    for token in cased["model"]["vocab"]:
        if token not in vocab and lower(token):
            vocab.setdefault(lower(token), len(vocab))
    t["model"]["vocab"] = vocab
    t["normalizer"].update(strip_accents=None, lowercase=True)
    n = len(vocab)
    for content, flags in [("<left>", ["lstrip"]), ("<right>", ["rstrip"]), ("<both>", ["lstrip", "rstrip"]), ("<word>", ["single_word"])]:
        a = dict(id=n, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
        a.update({f: True for f in flags})
        t["added_tokens"].append(a)
        n += 1
    t["truncation"] = dict(direction="Right", max_length=128, strategy="LongestFirst", stride=0)
    t["padding"] = dict(strategy={"Fixed": 128}, direction="Right", pad_to_multiple_of=None, pad_id=0, pad_type_id=0, pad_token="[PAD]")
    return t


def hostile(rnd):
    texts = []
    for _ in range(600):
        parts = []
        for _ in range(rnd.choice([1, 2, 3, 5, 8, 13, 30])):
            k = rnd.randrange(12)
            if k < 2:
                parts.append(rnd.choice(SPECIAL))
            elif k < 4:
                parts.append(rnd.choice(SCRIPTS))
            elif k < 6:
                parts.append(rnd.choice(WORDS))
            elif k < 8:
                parts.append(rnd.choice(SPACES))
            elif k == 8:
                parts.append("".join(chr(rnd.choice([0x300, 0x301, 0x316, 0x323, 0x327, 0x345, 0x5b0, 0x94d, 0x1dfa, 0x8d3, 0x1e000, 0x302f, 0x1d165]))
                                     for _ in range(rnd.randrange(1, 9))))
            elif k == 9:
                parts.append(chr(rnd.choice([rnd.randrange(0x80), rnd.randrange(0x600), rnd.randrange(0xD800), rnd.randrange(0xE000, 0x110000)])))
            elif k == 10:
                parts.append(rnd.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
            else:
                parts.append("".join(rnd.choice("abcdefghijKLMNOP0123") for _ in range(rnd.choice([1, 3, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65]))))
        texts.append("".join(parts))
    return texts


def plain(tokenizer):
    t = Tokenizer.from_str(json.dumps(tokenizer))
    t.no_truncation()
    t.no_padding()
    return t


def write(name, value):
    (DATA / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    if tokenizers.__version__ != WANT:
        sys.exit("tokenizers %s is needed, found %s" % (WANT, tokenizers.__version__))
    cased = json.loads((DATA / "bert-cased-wordpiece.tokenizer.json").read_text(encoding="utf-8"))
    both = {"cased": cased, "uncased": uncased(cased)}
    write("bert-uncased-wordpiece.tokenizer.json", both["uncased"])
    for name, t in both.items():
        ref, rnd = plain(t), random.Random(name)
        rows = [{"text": s, "ids": ref.encode(s, add_special_tokens=False).ids} for s in hostile(rnd)]
        write("bert-%s-wordpiece.hostile.json" % name, {"oracle": "tokenizers " + WANT, "singles": rows})
    ref = plain(both["uncased"])
    old = json.loads((DATA / "bert-cased-wordpiece.golden.json").read_text(encoding="utf-8"))
    singles = [(s, ref.encode(s)) for s in (row["text"] for row in old["singles"])]
    pairs = [(p["a"], p["b"], ref.encode(p["a"], p["b"])) for p in old["pairs"]]
    write("bert-uncased-wordpiece.golden.json", {
        "tokenizer": "bert-uncased-wordpiece.tokenizer.json", "oracle": "tokenizers " + WANT, "note": "uncased, accents stripped",
        "singles": [{"text": s, "ids": e.ids, "tokens": e.tokens, "offsets": e.offsets} for s, e in singles],
        "pairs": [{"a": a, "b": b, "ids": e.ids, "type_ids": e.type_ids} for a, b, e in pairs]})


if __name__ == "__main__":
    main()
