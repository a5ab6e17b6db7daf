"""faiss k-means from its own start: distortion over time, and of the final centres."""
import json
import sys
import time

import faiss
import numpy

data, k, rounds, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
faiss.omp_set_num_threads(threads)
x = numpy.load(data).astype("float32")
km = faiss.Kmeans(x.shape[1], k, niter=rounds, max_points_per_centroid=len(x), min_points_per_centroid=1, seed=1)
began = time.perf_counter()
km.train(x)
seconds = time.perf_counter() - began
distances, _ = km.index.search(x, 1)
curve = [[s["time"], s["obj"] / len(x)] for s in km.iteration_stats]
print(json.dumps({"seconds": seconds, "curve": curve, "distortion": float(distances.mean()), "version": faiss.__version__}))
