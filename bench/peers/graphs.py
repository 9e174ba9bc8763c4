"""Exported ONNX graphs of a sentence-transformers directory, made once and cached.

The graphs are for the peers only: encbench writes its own.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys

RULE = "graphs-2"  # names the rule by which graphs are made; a new rule gets a new cache folder
GRAPH_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Fault(Exception):
    """An answer {"error": text, "kind": kind}: missing, usage or failed."""

    def __init__(self, text, kind="failed"):
        super().__init__(text)
        self.kind = kind


def need(name):
    """Imports a module, or says which one is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise Fault(f"import {name}: {err}", "missing") from err


def file_hash(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def graph_dir(model, cache):
    """The cache folder of one model's exported graphs, named by its bytes."""
    if not cache:
        raise Fault("cache is not named: exported graphs need a folder", "usage")
    digest = hashlib.sha256()
    for name in ("config.json", "modules.json", "1_Pooling/config.json", "model.safetensors"):
        path = os.path.join(model, name)
        digest.update(f"{name} {file_hash(path) if os.path.exists(path) else '-'}\n".encode())
    return os.path.join(cache, f"{RULE}-{digest.hexdigest()[:16]}")


def pooling_mode(model):
    path = os.path.join(model, "1_Pooling", "config.json")
    if not os.path.exists(path):
        raise Fault(f"{path} is missing: pooling is not known", "usage")
    with open(path) as f:
        config = json.load(f)
    on = sorted(k for k, v in config.items() if k.startswith("pooling_mode") and v)
    modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(on) == 1 and on[0] in modes:
        return modes[on[0]]
    named = config.get("pooling_mode")
    if named in ("mean", "cls"):
        return named
    raise Fault(f"{path}: pooling {on} is not supported here, only mean and cls", "usage")


def once(folder, make):
    """The folder, filled by make(part) when it is absent: made beside it and
    renamed, so that it is whole or not there, and the first of two makers wins."""
    if os.path.isdir(folder):
        return folder
    part = f"{folder}.{os.getpid()}.part"
    try:
        os.makedirs(part)
        make(part)
        os.rename(part, folder)
    except OSError:
        if not os.path.isdir(folder):
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def graph_module(model, attention, pooled):
    """The model as a torch module from ids, mask and types to token states or to
    one unit vector a row, and its configuration."""
    import torch
    from transformers import AutoModel

    pooling = pooling_mode(model)
    # The pooler is left out: nothing that is pooled by mean or CLS reads it.
    bert = AutoModel.from_pretrained(model, attn_implementation=attention, dtype=torch.float32,
                                     add_pooling_layer=False).eval()

    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask, token_type_ids):
            states = self.bert(input_ids=input_ids, attention_mask=attention_mask,
                               token_type_ids=token_type_ids).last_hidden_state
            return pool_torch(states, attention_mask, pooling) if pooled else states

    return Graph(), bert.config


def pool_torch(states, mask, mode):
    """Mean or CLS pooling and L2 normalisation of torch's tensors."""
    import torch

    if mode == "cls":
        row = states[:, 0]
    else:
        weight = mask.unsqueeze(-1).to(states.dtype)
        row = (states * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(row, dim=-1)


def example():
    """Two short rows, one padded, for the tracers."""
    import torch

    ids = torch.randint(100, 200, (2, 7))
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    return dict(zip(GRAPH_INPUTS, (ids, mask, torch.zeros_like(ids))))


def export_onnx(model, out):
    """Writes tokens.onnx (token states), pooled.onnx (a unit vector a row) and
    the two as fused by onnxruntime's BERT optimizer."""
    import torch
    from onnxruntime.transformers.optimizer import optimize_model

    for name, pooled in (("tokens", False), ("pooled", True)):
        # The optimizer knows the graph of eager attention written by the tracing
        # exporter; with the newer exporter, or sdpa, it finds no Attention to fuse.
        module, config = graph_module(model, "eager", pooled)
        path = os.path.join(out, f"{name}.onnx")
        torch.onnx.export(module, tuple(example().values()), path,
                          input_names=list(GRAPH_INPUTS), output_names=["output"],
                          dynamic_axes={n: {0: "batch", 1: "tokens"} for n in GRAPH_INPUTS},
                          opset_version=17, dynamo=False)
        fused = optimize_model(path, model_type="bert", num_heads=config.num_attention_heads,
                               hidden_size=config.hidden_size, opt_level=0)
        count = fused.get_fused_operator_statistics().get("Attention", 0)
        if count != config.num_hidden_layers:
            raise SystemExit(f"fuse {path}: {count} Attention operators, want {config.num_hidden_layers}")
        fused.save_model_to_file(os.path.join(out, f"{name}.fused.onnx"))


def export_openvino(model, out):
    """Writes pooled.xml: OpenVINO's own conversion from torch, which keeps its
    fused attention operator."""
    import openvino

    module, _ = graph_module(model, "sdpa", True)
    openvino.save_model(openvino.convert_model(module, example_input=example()),
                        os.path.join(out, "pooled.xml"), compress_to_fp16=False)


def quantise_onnx(graphs, out):
    """Writes the pooled graphs with int8 weights by onnxruntime's own dynamic
    quantiser, with a scale for each tensor, its default, and for each channel."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    for name in ("pooled", "pooled.fused"):
        for scales in ("tensor", "channel"):
            # ONNX's inference of shapes does not know what fused operators give.
            quantize_dynamic(os.path.join(graphs, f"{name}.onnx"), os.path.join(out, f"{name}.{scales}.onnx"),
                             weight_type=QuantType.QInt8, per_channel=scales == "channel",
                             extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


EXPORTS = {"onnx": (export_onnx, ("torch", "transformers", "onnx", "onnxruntime")),
           "openvino": (export_openvino, ("torch", "transformers", "openvino")),
           "int8": (quantise_onnx, ("onnx", "onnxruntime"))}


def graph(model, cache, kind, name):
    """Path of an exported graph. Graphs are made in a process of their own, so
    that torch's threads and memory are not in the peer."""
    source = model
    if kind == "int8":  # made of the exported graphs
        source = os.path.dirname(graph(model, cache, "onnx", "pooled.onnx"))

    def make(part):
        for module in EXPORTS[kind][1]:
            if importlib.util.find_spec(module) is None:
                raise Fault(f"export {model}: No module named {module!r}", "missing")
        done = subprocess.run([sys.executable, os.path.abspath(__file__), kind, source, part],
                              stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Fault(f"export {model} for {kind}: exit status {done.returncode}, see its words on standard error")

    return os.path.join(once(os.path.join(graph_dir(model, cache), kind), make), name)


if __name__ == "__main__":
    EXPORTS[sys.argv[1]][0](*sys.argv[2:])
