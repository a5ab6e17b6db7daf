"""
The centres that each round of k-means of faiss or scikit-learn assigns to, and when the round is done.
The times are those of one run; the centres come from rounds one at a time, from the same start.
"""
import json
import sys

import numpy

tool, data, k, rounds, threads, out = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]
x = numpy.load(data).astype("float32")
start = x[numpy.random.default_rng(1).permutation(len(x))[:k]]
if tool == "faiss":
    import faiss

    faiss.omp_set_num_threads(threads)

    def fit(centers, rounds):
        km = faiss.Kmeans(x.shape[1], k, niter=rounds, max_points_per_centroid=len(x), min_points_per_centroid=1)
        km.train(x, init_centroids=centers)
        return km.centroids, [s["time"] for s in km.iteration_stats]

    version = faiss.__version__
else:
    import sklearn
    from sklearn_rounds import timed_fit

    def fit(centers, rounds):
        km = sklearn.cluster.KMeans(k, init=centers, n_init=1, max_iter=rounds, tol=0, algorithm="lloyd")
        times = [at for at, _ in timed_fit(km, x, threads)]
        return km.cluster_centers_, times

    version = sklearn.__version__
_, times = fit(start, rounds)
centers = [start]
while len(centers) < len(times):
    centers.append(fit(centers[-1], 1)[0].copy())
numpy.save(out, numpy.concatenate(centers).astype("float32"))
print(json.dumps({"times": times, "version": version}))
