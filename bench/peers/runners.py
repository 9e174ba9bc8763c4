"""The peers: each class is one program that does encbench's work, at its best."""

import array
import hashlib
import json
import os
import queue
import resource
import sys
import threading
import time

from graphs import Fault, graph, graph_dir, need, once, pool_torch, pooling_mode
from rows import batches_of, gather, padded, pool, tokenizer_file, tokenizer_of


class Peer:
    """One program at work. run gives (vectors or None, wall seconds, cpu seconds, more)."""

    path = ""  # of the graph that it runs, where it runs one from a file

    def __init__(self, config):
        self.config = config
        self.batch = config["batch"]
        self.np = need("numpy")

    def token_ids(self, texts):
        """This peer's own ids of texts, for the check against the input's."""
        tok = tokenizer_of(self.config["model"], self.config["max_seq_length"])
        return [e.ids for e in tok.encode_batch_fast(texts)]

    def timed(self, work):
        before = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter()
        result = work()
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return result, wall, cpu


class Ids(Peer):
    """A peer that runs a graph on batches of ids. With region tokenize+encode it
    starts from text, through the Hugging Face tokenizer."""

    def __init__(self, config):
        super().__init__(config)
        with open(os.path.join(config["model"], "config.json")) as f:
            self.pad = json.load(f).get("pad_token_id") or 0
        self.from_text = config["options"].get("region") == "tokenize+encode"
        self.tokenizer = tokenizer_of(config["model"], config["max_seq_length"]) if self.from_text else None

    def encode(self, ids):
        raise NotImplementedError

    def run(self, rows):
        if self.from_text:
            texts = rows.need_texts(self.config["peer"])
            result, wall, cpu = self.timed(
                lambda: self.encode([e.ids for e in self.tokenizer.encode_batch_fast(texts)]))
        else:
            ids = rows.need_ids(self.config["peer"])
            result, wall, cpu = self.timed(lambda: self.encode(ids))
        return result, wall, cpu, {}


class OnnxRuntime(Ids):
    """onnxruntime from Python: one session, workers threads that run it side by
    side, each run on threads/workers threads of the session's pool."""

    def __init__(self, config):
        super().__init__(config)
        ort = need("onnxruntime")
        options = config["options"]
        self.pooled = options.get("pooling", "graph") == "graph"
        self.mode = pooling_mode(config["model"])
        name, kind = ("pooled" if self.pooled else "tokens") + (".fused" if options.get("graph") == "fused" else ""), "onnx"
        if options.get("int8"):
            name, kind = f"{name}.{options['int8']}", "int8"
        self.path = options.get("file") or graph(config["model"], config["cache"], kind, name + ".onnx")
        settings = ort.SessionOptions()
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.intra_op_num_threads = max(1, config["threads"] // config["workers"])
        settings.inter_op_num_threads = 1
        self.session = ort.InferenceSession(self.path, settings, providers=["CPUExecutionProvider"])
        self.inputs = {i.name for i in self.session.get_inputs()}

    def encode(self, ids):
        np, todo = self.np, queue.SimpleQueue()
        for rows in batches_of(ids, self.batch):
            todo.put(rows)
        parts, faults = [], []

        def work():
            try:
                while True:
                    try:
                        rows = todo.get_nowait()
                    except queue.Empty:
                        return
                    feed = padded(np, ids, rows, self.pad)
                    out = self.session.run(None, {k: v for k, v in feed.items() if k in self.inputs})[0]
                    if not self.pooled:
                        out = pool(np, out, feed["attention_mask"], self.mode)
                    parts.append((rows, out))
            except Exception as err:  # carried to the caller's thread
                faults.append(err)

        if self.config["workers"] == 1:
            work()
        else:
            threads = [threading.Thread(target=work) for _ in range(self.config["workers"])]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        if faults:
            raise faults[0]
        return gather(np, parts, len(ids))


class Transformers(Ids):
    """The model of transformers on torch with sdpa attention, from ids to unit vectors."""

    def __init__(self, config):
        super().__init__(config)
        self.torch = need("torch")
        self.torch.set_num_threads(config["threads"])
        self.mode = pooling_mode(config["model"])
        self.model = need("transformers").AutoModel.from_pretrained(
            config["model"], local_files_only=True, dtype=self.torch.float32, attn_implementation="sdpa").eval()

    def encode(self, ids):
        np, torch, parts = self.np, self.torch, []
        with torch.inference_mode():
            for rows in batches_of(ids, self.batch):
                feed = padded(np, ids, rows, self.pad)
                mask = torch.from_numpy(feed["attention_mask"])
                states = self.model(input_ids=torch.from_numpy(feed["input_ids"]), attention_mask=mask).last_hidden_state
                parts.append((rows, pool_torch(states, mask, self.mode).numpy()))
        return gather(np, parts, len(ids))


class OpenVINO(Ids):
    """OpenVINO on its own conversion of the pooled model: dynamic shapes, an asynchronous queue over
    its streams, float32 throughout."""

    def __init__(self, config):
        super().__init__(config)
        ov = need("openvino")
        options = config["options"]
        settings = {
            "INFERENCE_NUM_THREADS": config["threads"],
            # Its default on CPUs with bfloat16 instructions is bfloat16.
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": options.get("hint", "THROUGHPUT"),
        }
        if options.get("streams"):
            settings["NUM_STREAMS"] = int(options["streams"])
        core = ov.Core()
        self.compiled = core.compile_model(
            core.read_model(graph(config["model"], config["cache"], "openvino", "pooled.xml")), "CPU", settings)
        self.queue = ov.AsyncInferQueue(self.compiled, int(options.get("jobs", 0)))
        self.inputs = {i.get_any_name() for i in self.compiled.inputs}

    def encode(self, ids):
        np, parts = self.np, []

        def done(request, rows):
            parts.append((rows, request.get_output_tensor(0).data.copy()))

        self.queue.set_callback(done)
        for rows in batches_of(ids, self.batch):
            feed = padded(np, ids, rows, self.pad)
            self.queue.start_async({k: v for k, v in feed.items() if k in self.inputs}, rows)
        self.queue.wait_all()
        return gather(np, parts, len(ids))


class SentenceTransformers(Peer):
    """sentence-transformers' encode, from text to unit vectors."""

    backend = "torch"

    def __init__(self, config):
        super().__init__(config)
        torch = need("torch")
        torch.set_num_threads(config["threads"])
        self.model = self.build(need("sentence_transformers").SentenceTransformer, config)
        self.model.max_seq_length = config["max_seq_length"]

    def build(self, new, config):
        return new(config["model"], device="cpu", local_files_only=True,
                   model_kwargs={"dtype": "float32"})

    def token_ids(self, texts):
        return self.model.tokenizer(texts, truncation=True, max_length=self.config["max_seq_length"],
                                    padding=False)["input_ids"]

    def run(self, rows):
        texts = rows.need_texts(self.config["peer"])
        result, wall, cpu = self.timed(lambda: self.model.encode(
            texts, batch_size=self.batch, normalize_embeddings=True, convert_to_numpy=True,
            show_progress_bar=False))
        return result, wall, cpu, {}


class SentenceTransformersOnnx(SentenceTransformers):
    """sentence-transformers' encode with its transformer replaced by an
    onnxruntime session on the exported graph, which is what its onnx backend
    does through optimum (README.md says why optimum itself cannot be used)."""

    def build(self, new, config):
        torch, ort = need("torch"), need("onnxruntime")
        name = "tokens.fused.onnx" if config["options"].get("graph") == "fused" else "tokens.onnx"
        settings = ort.SessionOptions()
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.intra_op_num_threads = config["threads"]
        settings.inter_op_num_threads = 1
        session = ort.InferenceSession(graph(config["model"], config["cache"], "onnx", name), settings,
                                       providers=["CPUExecutionProvider"])
        names = {i.name for i in session.get_inputs()}

        class Session(torch.nn.Module):
            def __init__(self, hf_config):
                super().__init__()
                self.config = hf_config

            def forward(self, input_ids, attention_mask, token_type_ids=None, return_dict=True):
                if token_type_ids is None:
                    token_type_ids = torch.zeros_like(input_ids)
                feed = {"input_ids": input_ids.numpy(), "attention_mask": attention_mask.numpy(),
                        "token_type_ids": token_type_ids.numpy()}
                out = session.run(None, {k: v for k, v in feed.items() if k in names})[0]
                return {"last_hidden_state": torch.from_numpy(out)}

        model = super().build(new, config)
        first = model[0]
        first.model = Session(first.model.config)
        return model


class SentenceTransformersOpenVINO(SentenceTransformers):
    """sentence-transformers' own openvino backend (optimum-intel)."""

    def build(self, new, config):
        settings = {
            "INFERENCE_NUM_THREADS": str(config["threads"]),
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": config["options"].get("hint", "LATENCY"),
        }
        if config["options"].get("streams"):
            settings["NUM_STREAMS"] = str(config["options"]["streams"])
        saved = once(os.path.join(graph_dir(config["model"], config["cache"]), "st-openvino"),
                     lambda part: new(config["model"], backend="openvino", device="cpu",
                                      local_files_only=True).save_pretrained(part))
        return new(saved, backend="openvino", device="cpu", local_files_only=True,
                   model_kwargs={"ov_config": settings})


class HuggingFaceTokenizers(Peer):
    """tokenizers' encode_batch_fast on whole texts, no special tokens, no limit.
    Only the call is inside the clock: turning its result into Python lists and
    freeing it are not, and the hash is taken outside too. Option tokenizer names
    another file than the model's."""

    def __init__(self, config):
        super().__init__(config)
        path = config["options"].get("tokenizer") or os.path.join(config["model"], "tokenizer.json")
        self.tokenizer = tokenizer_file(path, 0)

    def run(self, rows):
        texts = rows.need_texts(self.config["peer"])
        # BPE and Unigram keep the ids of words that they have seen; a pass starts
        # without, like ours.
        getattr(self.tokenizer.model, "_clear_cache", lambda: None)()
        size = sum(len(t.encode()) for t in texts)
        digest, wall, cpu, tokens = hashlib.sha256(), 0.0, 0.0, 0
        for start in range(0, len(texts), self.batch):
            part = texts[start:start + self.batch]
            done, w, c = self.timed(lambda: self.tokenizer.encode_batch_fast(part, add_special_tokens=False))
            wall, cpu = wall + w, cpu + c
            for encoding in done:
                ids = encoding.ids
                tokens += len(ids)
                digest.update(packed([len(ids)]))
                digest.update(packed(ids))
        return None, wall, cpu, {"bytes": size, "tokens": tokens, "mb_per_s": size / wall / 1e6,
                                 "ids_sha256": digest.hexdigest()}


def packed(values):
    """Values as little-endian 32-bit integers."""
    out = array.array("i", values)
    if sys.byteorder != "little":
        out.byteswap()
    return out.tobytes()


PEERS = {
    "ort-python": OnnxRuntime,
    "openvino": OpenVINO,
    "transformers": Transformers,
    "st-torch": SentenceTransformers,
    "st-onnx": SentenceTransformersOnnx,
    "st-openvino": SentenceTransformersOpenVINO,
    "hf-tokenizers": HuggingFaceTokenizers,
}


def overlay(peer):
    """optimum-intel wants older transformers than the other peers: its packages
    lie in a folder of their own that only its process puts first."""
    if peer != "st-openvino":
        return
    folder = os.path.join(sys.prefix, "overlay-openvino")
    if folder in sys.path:
        return
    if not os.path.isdir(folder):
        raise Fault(f"{folder} is missing", "missing")
    if "transformers" in sys.modules:
        raise Fault("st-openvino must be the first peer that its process loads", "usage")
    sys.path.insert(0, folder)
