"""Input rows, and the arithmetic of batches that every id-reading peer shares."""

import json
import os

from graphs import Fault, need


class Rows:
    """The rows of an input file: texts, and ids with their special tokens."""

    def __init__(self, path):
        self.texts, self.ids = [], []
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                try:
                    row = json.loads(line)
                except ValueError as err:
                    raise Fault(f"{path}:{number}: not JSON: {err}", "usage") from err
                text, ids = row.get("text"), row.get("ids")
                if text is None and not ids:
                    raise Fault(f"{path}:{number}: neither text nor ids", "usage")
                self.texts.append(text)
                self.ids.append(ids)
        if not self.texts:
            raise Fault(f"{path}: no rows", "usage")

    def __len__(self):
        return len(self.texts)

    def need_texts(self, peer):
        if any(t is None for t in self.texts):
            raise Fault(f"{peer} reads text, and the input has rows without it", "usage")
        return self.texts

    def need_ids(self, peer):
        if any(not i for i in self.ids):
            raise Fault(f"{peer} reads ids, and the input has rows without them", "usage")
        return self.ids


def batches_of(ids, batch):
    """Row numbers, longest rows first, cut into batches."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    return [order[i:i + batch] for i in range(0, len(order), batch)]


def padded(np, ids, rows, pad):
    """One batch as int64 input_ids, attention_mask, token_type_ids."""
    width = max(len(ids[i]) for i in rows)
    tokens = np.full((len(rows), width), pad, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for r, i in enumerate(rows):
        n = len(ids[i])
        tokens[r, :n] = ids[i]
        mask[r, :n] = 1
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}


def pool(np, states, mask, mode):
    """Mean or CLS pooling and L2 normalisation, as scripts around a token-state graph do it."""
    if mode == "cls":
        rows = states[:, 0]
    else:
        weight = mask[:, :, None].astype(np.float32)
        rows = (states * weight).sum(1) / np.maximum(weight.sum(1), 1e-9)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def tokenizer_of(model, limit):
    """The Hugging Face tokenizer of a model directory, cutting at limit tokens and padding nothing."""
    return tokenizer_file(os.path.join(model, "tokenizer.json"), limit)


def tokenizer_file(path, limit):
    """The tokenizer of a file, cutting at limit tokens (0 = nowhere) and padding nothing."""
    tok = need("tokenizers").Tokenizer.from_file(path)
    tok.no_padding()
    tok.no_truncation()
    if limit:
        tok.enable_truncation(max_length=limit)
    return tok


def gather(np, parts, n):
    """Vectors of batches back in the order of the input."""
    out = np.empty((n, parts[0][1].shape[1]), dtype=np.float32)
    for rows, vectors in parts:
        out[rows] = vectors
    return out
