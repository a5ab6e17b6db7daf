"""faiss's product quantizers: training, encoding and searching, timed; recall and distortion."""
import json
import sys
import time

import faiss
import numpy

folder, kind, m, rounds, steps, threads, repeats, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:9])
faiss.omp_set_num_threads(threads)
learn, base, queries = (numpy.load(f"{folder}/{name}.npy").astype("float32") for name in ("learn", "base", "queries"))
truth = numpy.load(f"{folder}/truth.npy")[:, 0]
d = learn.shape[1]
began = time.perf_counter()
turn = lambda x: x
if kind == "opq":
    rotation = faiss.OPQMatrix(d, m)
    # As many rotations as asked for; k-means steps of a round: faiss takes 4, and 40 in the first.
    rotation.niter = rounds
    if steps > 0:
        rotation.niter_pq, rotation.niter_pq_0 = steps, steps
    rotation.train(learn)
    turn = rotation.apply
rotation_seconds = time.perf_counter() - began
index = faiss.IndexPQ(d, m, 8)
if kind == "pq":
    index.pq.cp.niter = rounds
if seed > 0:
    index.pq.cp.seed = seed
index.train(turn(learn))
seconds = time.perf_counter() - began


def fastest(work):
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begun)
    return min(times), found


encode, codes = fastest(lambda: index.sa_encode(turn(base)))
turned = turn(base)
distortion = float(((index.sa_decode(codes) - turned) ** 2).sum(1).mean())
index.add(turned)
search, (_, found) = fastest(lambda: index.search(turn(queries), 100))
recall = [float((found[:, :r] == truth[:, None]).any(1).mean()) for r in (1, 10, 100)]
result = {
    "seconds": seconds,
    "rotationSeconds": rotation_seconds,
    "encode": encode,
    "search": search,
    "recall": recall,
    "distortion": distortion,
    "version": faiss.__version__,
}
print(json.dumps(result))
