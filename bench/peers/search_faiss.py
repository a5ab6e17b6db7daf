"""faiss's inverted files as a server: one JSON command a line on stdin, one JSON answer a line on stdout."""
import json
import os
import sys
import time

import faiss
import numpy

threads = int(sys.argv[1])
faiss.omp_set_num_threads(threads)
index = queries = None
before = 0


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def build(factory, base, asked, lists, learn):
    global index, queries
    vectors = numpy.load(base, mmap_mode="r")
    queries = numpy.load(asked).astype("float32")
    index = faiss.index_factory(vectors.shape[1], factory)
    began, busy = time.perf_counter(), time.process_time()
    every = max(1, len(vectors) // learn) if learn > 0 else 1
    index.train(numpy.asarray(vectors[::every], dtype="float32"))
    index.add(numpy.asarray(vectors, dtype="float32"))
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    return {"seconds": seconds, "cpu": cpu, "version": faiss.__version__}


def save(path):
    faiss.write_index(index, path)
    return {"bytes": os.path.getsize(path)}


def load(path, base, asked):
    global index, queries, before
    before = resident()
    queries = numpy.load(asked).astype("float32")
    index = faiss.read_index(path)
    return {"bytes": os.path.getsize(path), "version": faiss.__version__}


def search(probe, candidates, nearest, single, most):
    inner = index.base_index if hasattr(index, "base_index") else index
    if hasattr(index, "k_factor"):
        index.k_factor = max(1, candidates / nearest)
    ivf = faiss.extract_index_ivf(inner)
    ivf.nprobe = probe
    if not single:
        began, busy = time.perf_counter(), time.process_time()
        _, found = index.search(queries, nearest)
        seconds, cpu = time.perf_counter() - began, time.process_time() - busy
        return {"seconds": seconds, "cpu": cpu, "ids": found.tolist()}
    times = []
    for i in range(min(most, len(queries))):
        query = queries[i : i + 1]
        began = time.perf_counter()
        index.search(query, nearest)
        times.append(time.perf_counter() - began)
    return {"times": times}


commands = {
    "build": build,
    "save": save,
    "load": load,
    "search": search,
    "memory": lambda: {"bytes": resident(), "before": before},
}
for line in sys.stdin:
    message = json.loads(line)
    name = message.pop("command")
    print(json.dumps(commands[name](**message)), flush=True)
