"""Measures by pytrec_eval, ranx and ir_measures, from what each holds in memory."""

import json
import resource
import time

from graphs import Fault, need


def columns(path, width):
    """The lines of a TREC file, split."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            parts = line.split()
            if len(parts) != width:
                raise Fault(f"{path}:{number}: {len(parts)} columns, expected {width}", "usage")
            yield parts


def read_qrels(path):
    qrels = {}
    for query, _, doc, grade in columns(path, 4):
        qrels.setdefault(query, {})[doc] = int(grade)
    return qrels


def read_run(path):
    run = {}
    for query, _, doc, _, score, _ in columns(path, 6):
        run.setdefault(query, {})[doc] = float(score)
    return run


class PytrecEval:
    def __init__(self, qrels, run, measures, threads):
        self.run, pytrec_eval = run, need("pytrec_eval")
        names = pytrec_eval.supported_measures if measures == ["*"] else measures
        self.evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names))

    def evaluate(self):
        return self.evaluator.evaluate(self.run)

    def values(self, result):
        return [(query, measure, value) for query, of in result.items() for measure, value in of.items()
                if not isinstance(value, str)]


class Ranx:
    def __init__(self, qrels, run, measures, threads):
        ranx = need("ranx")
        self.measures, self.threads, self.work = list(measures), threads, ranx.evaluate
        self.qrels, self.run = ranx.Qrels(qrels), ranx.Run(run)

    def evaluate(self):
        return self.work(self.qrels, self.run, self.measures, return_mean=True, threads=self.threads,
                         save_results_in_run=False)

    def values(self, _):
        scores = self.work(self.qrels, self.run, self.measures, return_mean=False, threads=self.threads,
                           save_results_in_run=False)
        if len(self.measures) == 1:
            scores = {self.measures[0]: scores}
        # In the order of sorted query ids, as both sides are held.
        queries = sorted(self.run.keys())
        return [(query, measure, value) for measure in self.measures
                for query, value in zip(queries, scores[measure], strict=True)]


class IrMeasures:
    def __init__(self, qrels, run, measures, threads):
        ir = need("ir_measures")
        self.qrels, self.run = qrels, run
        self.measures, self.work = [ir.parse_measure(m) for m in measures], ir.iter_calc

    def evaluate(self):
        return list(self.work(self.measures, self.qrels, self.run))

    def values(self, result):
        return [(m.query_id, str(m.measure), m.value) for m in result]


TOOLS = {"pytrec_eval": PytrecEval, "ranx": Ranx, "ir_measures": IrMeasures}


class Score:
    """What a worker holds between judge and evaluate."""

    def __init__(self):
        self.tool = None

    def judge(self, message):
        name = message["tool"]
        if name not in TOOLS:
            raise Fault(f"unknown tool {name!r}, know {', '.join(TOOLS)}", "usage")
        self.tool = None
        qrels, run = read_qrels(message["qrels"]), read_run(message["run"])
        self.tool = TOOLS[name](qrels, run, message["measures"], int(message["threads"]))
        return {"queries": len(qrels), "lists": len(run)}

    def evaluate(self, message):
        if self.tool is None:
            raise Fault("evaluate before judge", "usage")
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        result = self.tool.evaluate()
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
        if message.get("out"):
            with open(message["out"], "w", encoding="utf-8") as f:
                for query, measure, value in self.tool.values(result):
                    f.write(json.dumps([query, measure, float(value)], ensure_ascii=False) + "\n")
        return {"wall_s": wall, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def compress(message):
    with open(message["path"], "rb") as f:
        data = f.read()
    return {"bytes": len(need("cramjam").zstd.compress(data, int(message["level"])))}
