"""Writes pairs.golden.json: rows of pairs as Hugging Face tokenizers makes them with
truncation only_second, behind queries that were cut before.

    python testdata/generate.py FOLDER > testdata/pairs.golden.json

FOLDER holds the tiny tokenizers (bert-cased-wordpiece.tokenizer.json and others).
Tested with tokenizers 0.23.3.
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer

WORDS = "the tides of a harbour turn twice a day and glass is blown from sand with lime and soda in a furnace".split()
MOST_QUERY = 6


def text(rng, n):
    return " ".join(rng.choice(WORDS) for _ in range(n))


def main(folder):
    rng = random.Random(64)
    out = []
    for name in ["bert-cased-wordpiece", "roberta-like-bpe", "xlmr-like-unigram"]:
        tok = Tokenizer.from_file(str(folder / f"{name}.tokenizer.json"))
        tok.no_padding()
        tok.no_truncation()
        content = lambda s: tok.encode(s, add_special_tokens=False)
        pieces, empty = [], tok.encode("", "")
        mark = tok.encode("sand", "glass")
        a, b = content("sand").ids, content("glass").ids
        at, ids, types = 0, mark.ids, mark.type_ids
        while at < len(ids):
            if a and ids[at : at + len(a)] == a and "A" not in [p.get("text") for p in pieces]:
                pieces.append({"text": "A", "type": types[at]})
                at += len(a)
            elif b and ids[at : at + len(b)] == b and "B" not in [p.get("text") for p in pieces]:
                pieces.append({"text": "B", "type": types[at]})
                at += len(b)
            else:
                pieces.append({"id": ids[at], "type": types[at]})
                at += 1
        special = len(empty.ids)
        for _ in range(40):
            query, doc = text(rng, rng.randint(1, 12)), text(rng, rng.randint(1, 40))
            q = content(query)
            # Cut by words until the ids fit: the same ids as cutting the ids, where
            # words are tokenized one by one.
            words = query.split()
            while len(content(" ".join(words)).ids) > MOST_QUERY:
                words.pop()
            short = " ".join(words)
            most = special + MOST_QUERY + rng.randint(1, 30)
            tok.enable_truncation(max_length=most, strategy="only_second")
            row = tok.encode(short, doc)
            tok.no_truncation()
            out.append(
                {
                    "tokenizer": name,
                    "pieces": pieces,
                    "max_tokens": most,
                    "query": content(short).ids,
                    "document": content(doc).ids,
                    "ids": row.ids,
                    "types": row.type_ids,
                }
            )
            assert q.ids[: len(content(short).ids)] == content(short).ids
    lines = ",\n".join(json.dumps(o, separators=(",", ":")) for o in out)
    print("[\n" + lines + "\n]")


main(Path(sys.argv[1]))
