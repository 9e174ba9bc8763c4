"""Exact search by faiss: one flat inner-product index, at the settings given."""

import os
import resource
import time

from graphs import Fault, need


def blas():
    """What the linear algebra under faiss runs: its kernels and threads."""
    return [{"library": os.path.basename(t["filepath"]), "kernels": t.get("architecture") or "", "version": t.get("version") or "",
             "threads": t["num_threads"]}
            for t in need("threadpoolctl").threadpool_info() if t["user_api"] == "blas" and "openblaso" in t["filepath"]]


class Search:
    """What a worker holds between index and search."""

    def __init__(self):
        self.flat = self.queries = None

    def index(self, message):
        np, faiss = need("numpy"), need("faiss")
        faiss.omp_set_num_threads(int(message["threads"]))
        rows = np.load(message["rows"], mmap_mode="r")
        self.queries = np.ascontiguousarray(np.load(message["queries"]))
        if rows.shape[1] != self.queries.shape[1]:
            raise Fault(f"rows have {rows.shape[1]} dimensions, queries {self.queries.shape[1]}", "usage")
        self.flat = None  # the old index is freed before the new one is filled
        flat, start = faiss.IndexFlatIP(rows.shape[1]), time.perf_counter()
        for at in range(0, len(rows), 65536):
            flat.add(np.ascontiguousarray(rows[at:at + 65536]))
        self.flat = flat
        return {"index_s": time.perf_counter() - start, "rows": flat.ntotal, "dim": flat.d, "version": faiss.__version__,
                "simd": faiss.SIMDConfig.get_level_name(), "threads": faiss.omp_get_max_threads(), "blas": blas()}

    def search(self, message):
        if self.flat is None:
            raise Fault("search before index", "usage")
        np, faiss = need("numpy"), need("faiss")
        k, count = int(message["k"]), int(message["queries"])
        if not 1 <= count <= len(self.queries) or not 1 <= k <= self.flat.ntotal:
            raise Fault(f"{count} queries and k {k} of {len(self.queries)} queries and {self.flat.ntotal} rows", "usage")
        faiss.cvar.distance_compute_blas_database_bs = int(message["row_block"])
        queries = self.queries[:count]
        if message.get("single"):
            parts = [queries[i:i + 1] for i in range(count)]
        else:
            parts = [queries]
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        found = [self.flat.search(part, k) for part in parts]
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
        answer = {"wall_s": wall, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
        if message.get("out"):
            with open(message["out"], "wb") as f:
                f.write(np.concatenate([ids for _, ids in found]).astype("<i8").tobytes())
        return answer
