"""Token ids of many texts, and a Unigram tokenizer trained, by tokenizers."""

import json
import struct
import time

from graphs import Fault, need
from rows import tokenizer_file

AT_ONCE = 1000  # texts a call


def read_texts(path):
    """The texts of a file: each is its length in bytes, 32 bits little-endian, and
    its bytes, of which those that are not UTF-8 are replaced."""
    with open(path, "rb") as f:
        while head := f.read(4):
            size = struct.unpack("<I", head)[0] if len(head) == 4 else 1 << 32
            text = f.read(size)
            if len(text) != size:
                raise Fault(f"{path}: ends inside a text", "usage")
            yield text.decode("utf-8", errors="replace")


def parts(texts, size):
    part = []
    for text in texts:
        part.append(text)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def tokenize(message):
    """Writes the ids of every text of a file, each as their number and the ids, all
    32 bits little-endian, without special tokens."""
    np, tok = need("numpy"), tokenizer_file(message["tokenizer"], 0)
    texts = tokens = 0
    with open(message["out"], "wb") as f:
        for part in parts(read_texts(message["texts"]), AT_ONCE):
            packed = []
            for encoding in tok.encode_batch_fast(part, add_special_tokens=False):
                ids = encoding.ids
                tokens += len(ids)
                packed += [len(ids), *ids]
            f.write(np.array(packed, dtype="<i4").tobytes())
            texts += len(part)
    return {"texts": texts, "tokens": tokens}


SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]  # the ids from 0 on, as XLM-RoBERTa has them
MASK = "<mask>"  # the last id


def train(message):
    """Writes a tokenizer with the pipeline of a template and pieces that are learnt
    from the texts of a file."""
    tokenizers = need("tokenizers")
    with open(message["template"], encoding="utf-8") as f:
        template = json.load(f)
    tokens = [a["content"] for a in template["added_tokens"]]
    if template["model"]["type"] != "Unigram" or tokens != [*SPECIAL, MASK]:
        raise Fault(f"{message['template']}: no Unigram model with the added tokens {', '.join(SPECIAL)} and {MASK}", "usage")
    start = time.perf_counter()
    tok = tokenizers.Tokenizer.from_str(json.dumps(template))
    tok.train_from_iterator(read_texts(message["texts"]), tokenizers.trainers.UnigramTrainer(
        vocab_size=int(message["size"]), special_tokens=SPECIAL, unk_token="<unk>", show_progress=False))
    pieces = json.loads(tok.to_str())["model"]["vocab"]
    if [p for p, _ in pieces[:len(SPECIAL)]] != SPECIAL:
        raise Fault(f"the trained pieces begin with {pieces[:len(SPECIAL)]}")
    template["model"]["vocab"] = [*pieces, [MASK, 0.0]]
    template["added_tokens"][-1]["id"] = len(pieces)
    with open(message["out"], "w", encoding="utf-8") as f:
        json.dump(template, f, ensure_ascii=False)
    return {"pieces": len(pieces) + 1, "wall_s": time.perf_counter() - start}
