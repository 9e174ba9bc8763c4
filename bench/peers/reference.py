"""Writes reference vectors of a model with sentence-transformers.

    python reference.py MODEL_DIR PROBES.jsonl OUT.npy [--max-seq-length 512]

PROBES.jsonl holds one {"text": string} or {"ids": [int]} a line, ids with their
special tokens. Each probe is encoded alone (no padding), in float32, by the
modules that the directory lists, and normalised to length 1. Written are OUT.npy
(float32, probes by dimensions) and OUT.ids.json (the ids of each probe), for
`encbench model verify MODEL_DIR --reference OUT.npy`.
"""

import argparse
import json
import os
import sys


def arguments():
    parser = argparse.ArgumentParser(description="write reference vectors with sentence-transformers")
    parser.add_argument("model", help="Hugging Face directory")
    parser.add_argument("probes", help="JSONL file of texts or ids")
    parser.add_argument("out", help="file to write, ending in .npy")
    parser.add_argument("--max-seq-length", type=int, default=512, help="tokens, special tokens included (512)")
    args = parser.parse_args()
    if not args.out.endswith(".npy"):
        parser.error("OUT must end in .npy")
    if not os.path.isdir(args.model):
        parser.error(f"{args.model} is not a directory")
    return args


def probe_ids(path, tokenizer, limit):
    found = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                ids = row.get("ids")
                if ids is None:
                    ids = tokenizer(row["text"], truncation=True, max_length=limit)["input_ids"]
            except (ValueError, KeyError, AttributeError) as err:
                sys.exit(f"{path}:{number}: want {{\"text\": …}} or {{\"ids\": […]}}: {type(err).__name__}: {err}")
            if not 0 < len(ids) <= limit:
                sys.exit(f"{path}:{number}: {len(ids)} ids, want 1 to {limit}")
            found.append([int(i) for i in ids])
    if not found:
        sys.exit(f"{path}: no probes")
    return found


def main():
    args = arguments()
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(args.model, device="cpu", local_files_only=True,
                                model_kwargs={"dtype": "float32"}).eval()
    probes = probe_ids(args.probes, model.tokenizer, args.max_seq_length)
    rows = []
    with torch.inference_mode():
        for ids in probes:
            tokens = torch.tensor([ids])
            out = model({"input_ids": tokens, "attention_mask": torch.ones_like(tokens),
                         "token_type_ids": torch.zeros_like(tokens)})["sentence_embedding"]
            rows.append(torch.nn.functional.normalize(out.float(), dim=-1)[0].numpy())
    np.save(args.out, np.stack(rows).astype("<f4"))
    ids_path = args.out[:-len(".npy")] + ".ids.json"
    with open(ids_path, "w", encoding="utf-8") as f:
        json.dump(probes, f)
        f.write("\n")
    print(f"wrote {args.out} ({len(rows)} by {len(rows[0])}) and {ids_path}", file=sys.stderr)


if __name__ == "__main__":
    main()
