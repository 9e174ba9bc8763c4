"""Runs one peer (another program that does encbench's work) as a child process.

The parent writes one JSON object a line to standard input and reads one a line
from standard output; README.md lists the commands. Standard error is free text.
Only the work of the peer itself is inside the clock: reading the input, checking
ids, writing vectors and building the model are outside.
"""

import importlib.metadata
import json
import os
import platform
import sys
import time
import traceback

# No peer may look for anything outside this machine.
for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ.setdefault(_name, "1")

from graphs import Fault, need
from parent import follow
from rows import Rows
from runners import PEERS, overlay
from scoring import Score, compress
from searching import Search
from tokenizing import tokenize, train

PACKAGES = ("cramjam", "faiss-cpu", "ir-measures", "numba", "numpy", "onnxruntime", "openvino", "optimum-intel",
            "pytrec-eval-terrier", "ranx", "sentence-transformers", "tokenizers", "torch", "transformers")


def versions():
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def cpu_features():
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                if key.strip() in ("flags", "Features"):
                    return [x for x in value.split() if x.startswith(("avx", "fma", "amx", "sse4", "asimd", "sve"))]
    except OSError:
        pass
    return []


class Session:
    """What a worker holds between commands."""

    def __init__(self):
        self.peer = self.key = self.rows = None

    def hello(self, _):
        names = ("FAISS_SIMD_LEVEL", "OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM")
        return {"versions": versions(), "cpus": len(os.sched_getaffinity(0)), "cpu_features": cpu_features(),
                "machine": platform.machine(), "env": {n: os.environ.get(n, "") for n in names}}

    def load(self, message):
        name = message.get("peer")
        if name not in PEERS:
            raise Fault(f"unknown peer {name!r}, know {', '.join(PEERS)}", "usage")
        config = {"peer": name, "model": message["model"], "cache": message.get("cache") or "",
                  "threads": int(message.get("threads") or 1), "workers": int(message.get("workers") or 1),
                  "batch": int(message.get("batch") or 32), "options": message.get("options") or {},
                  "max_seq_length": int(message.get("max_seq_length") or 512)}
        if not os.path.isdir(config["model"]):
            raise Fault(f"model directory {config['model']} is missing", "usage")
        if min(config["threads"], config["workers"], config["batch"], config["max_seq_length"]) < 1:
            raise Fault("threads, workers, batch and max_seq_length must be at least 1", "usage")
        key = json.dumps({k: v for k, v in config.items() if k != "batch"}, sort_keys=True)
        start = time.perf_counter()
        if key != self.key:
            self.peer = self.key = None  # the old model is freed before the new one is built
            overlay(name)
            self.peer, self.key = PEERS[name](config), key
        self.peer.batch = config["batch"]
        return {"load_s": time.perf_counter() - start, "versions": versions(), "graph": self.peer.path}

    def input(self, message):
        if self.peer is None:
            raise Fault("input before load", "usage")
        self.rows = rows = Rows(message["path"])
        check = [i for i in range(len(rows)) if rows.texts[i] is not None and rows.ids[i]]
        wrong = []
        if check:
            own = self.peer.token_ids([rows.texts[i] for i in check])
            wrong = [i for i, ids in zip(check, own) if list(ids) != list(rows.ids[i])]
        return {"rows": len(rows), "checked": len(check), "mismatches": len(wrong), "mismatch_rows": wrong}

    def run(self, message):
        if self.peer is None or self.rows is None:
            raise Fault("run before load and input", "usage")
        vectors, wall, cpu, more = self.peer.run(self.rows)
        answer = {"wall_s": wall, "cpu_s": cpu, "rows": len(self.rows), **more}
        if vectors is not None:
            np = need("numpy")
            vectors = np.ascontiguousarray(vectors, dtype="<f4")
            answer["dim"] = int(vectors.shape[1])
            if message.get("out"):
                with open(message["out"], "wb") as f:
                    np.save(f, vectors)
                answer["out"] = message["out"]
        return answer


def serve(lines, write):
    session, search, score = Session(), Search(), Score()
    commands = {"hello": session.hello, "load": session.load, "input": session.input, "run": session.run,
                "index": search.index, "search": search.search, "judge": score.judge, "evaluate": score.evaluate,
                "zstd": compress, "tokenize": tokenize, "train": train}
    for line in lines:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
            command = message.get("cmd")
            if command == "close":
                write({"ok": True})
                return
            if command not in commands:
                raise Fault(f"unknown command {command!r}", "usage")
            answer = commands[command](message)
            answer["ok"] = True
        except Fault as err:
            answer = {"error": str(err), "kind": err.kind}
        except Exception as err:
            answer = {"error": f"{type(err).__name__}: {err}", "kind": "failed",
                      "trace": traceback.format_exc(limit=-4)}
        write(answer)


def main():
    follow()
    # Libraries print to standard output: the answers go to a private copy of
    # it, and the number that they know becomes standard error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def write(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    serve(sys.stdin, write)


if __name__ == "__main__":
    main()
