#!/usr/bin/env python3
# requires: tokenizers==0.23.3 (requirements.txt); Python 3.9 or newer.
"""Write what the reference makes of hostile texts with tokenizers of the BPE family.

    python3 bpe_goldens.py

reads   testdata/{roberta-like,llama3-split,gemma-like}-bpe.tokenizer.json
writes  testdata/bpe.hostile.json: for each case a base, the sections that replace
        its own, texts and ids
"""

import copy
import json
import random
import sys

import tokenizers
from tokenizers import Tokenizer

from goldens import DATA, WANT, hostile

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
MARKS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERNS = {
    "qwen2": CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + MARKS,
    "qwen3.5": CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CONTRACTION + r"?|[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CONTRACTION
             + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}


def split(regex):
    first = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [first, BYTES]}


def metaspace(scheme, cut):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": cut}


def added(base):
    """The added tokens of a tokenizer and some of every kind."""
    tokens, n = copy.deepcopy(base["added_tokens"]), len(base["model"]["vocab"])
    for content, *flags in [("<left>", "lstrip"), ("<right>", "rstrip"), ("<both>", "lstrip", "rstrip"), ("<word>", "single_word"),
                            ("Caf\u00e9", "normalized"), ("<CLS]", "normalized", "single_word")]:
        token = dict(id=n, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
        token.update({f: True for f in flags})
        tokens.append(token)
        n += 1
    return tokens


def cases(bases):
    roberta, llama3, gemma = bases
    yield roberta, {}
    yield roberta, {"pre_tokenizer": {**BYTES, "add_prefix_space": True, "use_regex": True}}
    yield roberta, {"normalizer": {"type": "NFC"}, "added_tokens": added(bases[roberta])}
    yield roberta, {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}]}}
    yield llama3, {}
    for regex in PATTERNS.values():
        yield llama3, {"pre_tokenizer": split(regex)}
    yield gemma, {}
    yield gemma, {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, SPACE]}, "pre_tokenizer": None}
    yield gemma, {"normalizer": {"type": "NFKC"}, "pre_tokenizer": metaspace("first", False), "added_tokens": added(bases[gemma])[:-2]}
    yield gemma, {"normalizer": None, "pre_tokenizer": metaspace("always", True)}
    yield gemma, {"model.byte_fallback": False}
    yield gemma, {"model.byte_fallback": False, "model.fuse_unk": False, "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}}


def main():
    if tokenizers.__version__ != WANT:
        sys.exit("tokenizers %s is needed, found %s" % (WANT, tokenizers.__version__))
    names = [n + "-bpe" for n in ("roberta-like", "llama3-split", "gemma-like")]
    bases = {n: json.loads((DATA / (n + ".tokenizer.json")).read_text(encoding="utf-8")) for n in names}
    rows = []
    for i, (name, sections) in enumerate(cases(bases)):
        base = copy.deepcopy(bases[name])
        for key, value in sections.items():
            section, _, field = key.partition(".")
            if field:
                base[section][field] = value
            else:
                base[section] = value
        ref, rnd = Tokenizer.from_str(json.dumps(base)), random.Random(i)
        texts = [s for s in hostile(rnd) if len(s) < 200][:50]
        rows.append({"base": name, "sections": sections,
                     "singles": [{"text": s, "ids": ref.encode(s, add_special_tokens=False).ids} for s in texts]})
    text = json.dumps({"oracle": "tokenizers " + WANT, "cases": rows}, ensure_ascii=True, separators=(",", ":"))
    (DATA / "bpe.hostile.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
