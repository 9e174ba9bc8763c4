"""Writes transformers.json: encoders of made-up sizes, computed by transformers.

Run it beside this file, in an environment with transformers, torch and numpy. The
weights follow from the tensors' names (see values), so that only shapes, rows and
outputs are stored; ../reference_transformers_test.go makes the same ones.
"""

import json
import pathlib

import numpy
import torch
import transformers


def values(name, n):
    """n float32 values around 0, for a normalisation's weight around 1."""
    state = numpy.uint64(14695981039346656037)  # FNV-1a of the name
    with numpy.errstate(over="ignore"):
        for b in name.encode():
            state = (state ^ numpy.uint64(b)) * numpy.uint64(1099511628211)
        z = state + (numpy.arange(n, dtype=numpy.uint64) + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z ^= z >> numpy.uint64(31)  # splitmix64
    unit = (z >> numpy.uint64(40)).astype(numpy.float64) / 2**23 - 1  # [-1, 1)
    if "norm" in name.lower() and name.endswith(".weight"):
        return (1 + unit / 4).astype(numpy.float32)
    return (unit / 4).astype(numpy.float32)


def ids(case, length, vocab, first):
    """The row of a length: ids from first on."""
    unit = values(f"{case} {length}", length).astype(numpy.float64) * 2 + 0.5
    return (first + numpy.floor(unit * (vocab - first))).astype(numpy.int64).tolist()


MODERNBERT = dict(
    vocab_size=90, hidden_size=40, intermediate_size=26, num_attention_heads=2, num_hidden_layers=4,
    max_position_embeddings=1300, local_attention=10, global_attn_every_n_layers=3,
    pad_token_id=0, bos_token_id=None, eos_token_id=None, cls_token_id=None, sep_token_id=None,
)
BERT = dict(
    vocab_size=90, hidden_size=30, intermediate_size=22, num_attention_heads=3, num_hidden_layers=2,
    max_position_embeddings=140, pad_token_id=1, bos_token_id=None, eos_token_id=None,
)
QWEN = dict(
    vocab_size=90, hidden_size=40, intermediate_size=26, num_hidden_layers=2, max_position_embeddings=400,
    pad_token_id=None, bos_token_id=None, eos_token_id=None,
)

# The name, the model's class, its config, the pooling (None: a reranker), lengths.
CASES = [
    ("qwen3, 6 heads of 12 on 3", "Qwen3Model", QWEN | dict(num_attention_heads=6, num_key_value_heads=3, head_dim=12), "last", [1, 2, 65, 130]),
    ("qwen3, 4 heads of 10 on 1, biases", "Qwen3Model", QWEN | dict(num_attention_heads=4, num_key_value_heads=1, head_dim=10, attention_bias=True), "last", [3, 64, 201]),
    ("modernbert, window's edges", "ModernBertModel", MODERNBERT, "cls", [1, 5, 6, 7, 11, 12, 63, 64, 65, 69, 70, 129]),
    ("modernbert, biases, silu, long", "ModernBertModel", MODERNBERT | dict(
        attention_bias=True, mlp_bias=True, norm_bias=True, hidden_activation="silu", local_attention=128), "mean", [64, 65, 129, 300, 1100]),
    ("modernbert, classifier of the mean", "ModernBertForSequenceClassification", MODERNBERT | dict(
        num_labels=1, classifier_pooling="mean", classifier_bias=True, classifier_activation="silu"), None, [2, 17, 90]),
    ("bert, relu, types, max", "BertModel", BERT | dict(hidden_act="relu", type_vocab_size=3), "max", [1, 31, 140]),
    ("bert, gelu_new", "BertModel", BERT | dict(hidden_act="gelu_new"), "mean", [2, 77]),
    ("bert, classifier", "BertForSequenceClassification", BERT | dict(num_labels=1), None, [2, 66]),
    ("roberta, classifier", "RobertaForSequenceClassification", BERT | dict(num_labels=1, type_vocab_size=1), None, [1, 2, 138]),
    ("distilbert, classifier", "DistilBertForSequenceClassification", dict(
        vocab_size=90, dim=30, hidden_dim=22, n_heads=3, n_layers=2, max_position_embeddings=140, num_labels=1), None, [1, 33]),
    ("mpnet, far", "MPNetModel", BERT | dict(max_position_embeddings=602, relative_attention_num_buckets=32), "mean", [1, 9, 64, 130, 290]),
    ("mpnet, classifier", "MPNetForSequenceClassification", BERT | dict(num_labels=1), None, [2, 40]),
]


def main():
    out = []
    for name, cls, config, pooling, lengths in CASES:
        kind = getattr(transformers, cls)
        model = kind(kind.config_class(**config, attn_implementation="eager")).eval()
        state = {k: v for k, v in model.state_dict().items() if v.is_floating_point()}
        for k, v in state.items():
            v.copy_(torch.from_numpy(values(k, v.numel())).reshape(v.shape))
        written = json.loads(model.config.to_json_string(use_diff=False))
        keep = set(config) | {"model_type", "rope_parameters", "layer_types", "layer_norm_eps", "norm_eps", "rms_norm_eps", "hidden_act",
                              "hidden_activation", "activation", "attention_bias", "mlp_bias", "norm_bias", "type_vocab_size", "id2label"}
        case = dict(
            name=name, pooling=pooling, first=2,
            config={"architectures": [cls]} | {k: v for k, v in sorted(written.items()) if k in keep and v is not None},
            tensors={k: list(v.shape) for k, v in state.items()}, rows=[],
        )
        for n in lengths:
            row = torch.tensor([ids(name, n, config["vocab_size"], case["first"])])
            more = {}
            if getattr(model.config, "type_vocab_size", 1) > 1:
                more["token_type_ids"] = torch.arange(n)[None] % model.config.type_vocab_size
            with torch.no_grad():
                got = model(input_ids=row, attention_mask=torch.ones_like(row), **more)
            if pooling is None:
                v = got.logits[0]
            else:
                s = got.last_hidden_state[0]
                v = {"cls": s[0], "last": s[-1], "mean": s.mean(0), "max": s.max(0).values}[pooling]
            case["rows"].append(dict(length=n, output=[round(x, 7) for x in v.double().tolist()]))
        out.append(case)
    made = dict(transformers=transformers.__version__, torch=torch.__version__, cases=out)
    with open(pathlib.Path(__file__).with_name("transformers.json"), "w") as f:
        json.dump(made, f, separators=(",", ":"))
        f.write("\n")


main()
