"""Makes the micro-* checkpoints and their golden.json.

Random weights of a fixed generator, norms and biases perturbed so that a dropped
term shows; outputs by transformers in float32 with eager attention, in one padded
batch with its mask. Run it in this folder with the interpreter of bench/peers, and
read the difference before committing it.
"""

import copy
import json
import os
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig, BertModel, DistilBertConfig, DistilBertForSequenceClassification, GteConfig,
    GteForSequenceClassification, GteModel, ModernBertConfig, ModernBertForSequenceClassification, ModernBertModel,
    MPNetConfig, MPNetForSequenceClassification, NomicBertConfig, NomicBertModel, Qwen3Config, Qwen3ForCausalLM,
    RobertaConfig, RobertaForSequenceClassification,
)

VOCAB, PAD = 64, 1
SIZES = dict(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=50, pad_token_id=PAD, attn_implementation="eager")
LENGTHS = [3, 17, 40, 8]
ST = "sentence_transformers.models."


def perturb(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=g)
            if p.dim() == 1:
                p.add_(0.2 * noise)
            else:
                p.copy_(0.25 * noise)
    return model.eval()


def rows(seed, low=2):
    g = torch.Generator().manual_seed(seed)
    return [torch.randint(low, VOCAB, (n,), generator=g).tolist() for n in LENGTHS]


def run(model, ids, types):
    """Outputs of the rows in one padded batch, and its mask."""
    longest = max(map(len, ids))
    batch = torch.full((len(ids), longest), PAD)
    mask = torch.zeros_like(batch)
    kinds = torch.zeros_like(batch)
    for i, r in enumerate(ids):
        batch[i, : len(r)] = torch.tensor(r)
        mask[i, : len(r)] = 1
        if types:
            kinds[i, : len(r)] = torch.tensor(types[i])
    args = dict(input_ids=batch, attention_mask=mask, output_hidden_states=True)
    if types:
        args["token_type_ids"] = kinds
    with torch.no_grad():
        return model(**args), mask


def pool(states, mask, how):
    if how == "cls":
        return states[:, 0]
    if how == "lasttoken":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    m = mask.unsqueeze(-1)
    if how == "max":
        return states.masked_fill(m == 0, float("-inf")).max(1).values
    return (states * m).sum(1) / m.sum(1)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def golden(name, ids, types, pooling, normalize, key, values):
    write(f"{name}/golden.json", {
        "input_ids": ids, "token_type_ids": types, "pad_id": PAD, "pooling": pooling, "normalize": normalize,
        key: [[float(f"{v:.9g}") for v in r] for r in values.tolist()],
    })


def save(model, name, dtype=None, shard=None):
    shutil.rmtree(name, ignore_errors=True)
    copy.deepcopy(model).to(dtype or torch.float32).save_pretrained(name, **({"max_shard_size": shard} if shard else {}))
    with torch.no_grad():  # the golden is of the rounded weights, computed in float32
        for p in model.parameters():
            p.copy_(p.to(dtype or torch.float32))
    if os.path.exists(f"{name}/generation_config.json"):
        os.remove(f"{name}/generation_config.json")


def embedder(name, model, seed, pooling, normalize=True, dense=(), types=None, dtype=None, shard=None, states=lambda o: o[0]):
    perturb(model, seed)
    save(model, name, dtype, shard)
    ids = rows(seed)
    out, mask = run(model, ids, types)
    v = pool(states(out), mask, pooling)
    width = v.shape[1]
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    write(f"{name}/1_Pooling/config.json", {"embedding_dimension": width, "pooling_mode": pooling, "include_prompt": True})
    g = torch.Generator().manual_seed(seed + 1)
    for i, (size, act, bias) in enumerate(dense):
        folder = f"{len(modules)}_Dense"
        linear = torch.nn.Linear(v.shape[1], size, bias=bias)
        with torch.no_grad():
            for p in linear.parameters():
                p.copy_(0.3 * torch.randn(p.shape, generator=g))
            v = act()(linear(v))
        write(f"{name}/{folder}/config.json", {
            "in_features": linear.in_features, "out_features": size, "bias": bias,
            "activation_function": f"{act.__module__}.{act.__name__}",
        })
        save_file({f"linear.{k}": p.detach() for k, p in linear.named_parameters()}, f"{name}/{folder}/model.safetensors")
        modules.append((folder, "Dense"))
    if normalize:
        v = torch.nn.functional.normalize(v, dim=1)
        modules.append((f"{len(modules)}_Normalize", "Normalize"))
    write(f"{name}/modules.json", [{"idx": i, "name": str(i), "path": p, "type": ST + t} for i, (p, t) in enumerate(modules)])
    golden(name, ids, types, pooling, normalize, "embeddings", v)


def reranker(name, model, seed, types=None, shard=None, dtype=None):
    perturb(model, seed)
    save(model, name, dtype, shard)
    ids = rows(seed)
    out, _ = run(model, ids, types)
    golden(name, ids, types, "classifier", False, "logits", out.logits)


def halves():
    """Token types of pairs whose second text begins in the middle."""
    return [[0] * (n // 2) + [1] * (n - n // 2) for n in LENGTHS]


def main():
    identity, tanh = torch.nn.Identity, torch.nn.Tanh
    embedder("micro-bert-dense", BertModel(BertConfig(**SIZES, hidden_act="gelu_new"), add_pooling_layer=False), 1, "max",
             dense=[(12, tanh, True), (5, identity, False)])
    reranker("micro-roberta-reranker", RobertaForSequenceClassification(RobertaConfig(**SIZES, hidden_act="relu", type_vocab_size=1, num_labels=1)), 2)
    sizes = dict(vocab_size=VOCAB, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=50, pad_token_id=PAD, attn_implementation="eager")
    reranker("micro-distilbert-reranker", DistilBertForSequenceClassification(DistilBertConfig(**sizes, num_labels=1)), 3)
    reranker("micro-mpnet-reranker", MPNetForSequenceClassification(MPNetConfig(**SIZES, num_labels=1)), 4)
    modern = dict(SIZES, num_hidden_layers=3, local_attention=6)
    bias = dict(norm_bias=True, attention_bias=True, mlp_bias=True)
    reranker("micro-modernbert-reranker", ModernBertForSequenceClassification(ModernBertConfig(
        **modern, **bias, classifier_bias=True, classifier_pooling="mean", classifier_activation="relu", hidden_activation="silu",
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], num_labels=1)), 5)
    embedder("micro-modernbert-shards", ModernBertModel(ModernBertConfig(**modern)), 6, "cls", normalize=False, shard="8KB")
    embedder("micro-nomic-mean", NomicBertModel(NomicBertConfig(**SIZES, rope_parameters={"rope_type": "default", "rope_theta": 1000.0})), 7, "mean", types=halves())
    gte = dict(SIZES, rope_parameters={"rope_type": "default", "rope_theta": 160000.0})
    embedder("micro-gte-cls", GteModel(GteConfig(**gte, type_vocab_size=0)), 8, "cls", dtype=torch.float16)
    reranker("micro-gte-reranker", GteForSequenceClassification(GteConfig(**gte, type_vocab_size=2, num_labels=1)), 9, types=halves())
    qwen = dict(SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=8, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    embedder("micro-qwen3-last", Qwen3ForCausalLM(Qwen3Config(**qwen, attention_bias=True, tie_word_embeddings=True)), 10, "lasttoken",
             dtype=torch.bfloat16, states=lambda o: o.hidden_states[-1])


main()
