"""k-means of faiss or scikit-learn from its own random start: distortion over time, and of the final centres."""
import json
import sys
import time

import numpy

tool, data, k, rounds, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
x = numpy.load(data).astype("float32")
if tool == "faiss":
    import faiss

    faiss.omp_set_num_threads(threads)
    km = faiss.Kmeans(x.shape[1], k, niter=rounds, max_points_per_centroid=len(x), min_points_per_centroid=1, seed=1)
    began, spent = time.perf_counter(), time.process_time()
    km.train(x)
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    curve = [[s["time"], s["obj"] / len(x)] for s in km.iteration_stats]
    # Measuring takes as long as a round. Of a single one, only the time matters.
    distortion = float(km.index.search(x, 1)[0].mean()) if rounds > 1 else curve[-1][1]
    version = faiss.__version__
else:
    import sklearn
    from sklearn_rounds import timed_fit

    km = sklearn.cluster.KMeans(k, init="random", n_init=1, max_iter=rounds, tol=0, algorithm="lloyd", random_state=1)
    curve = [[at, inertia / len(x)] for at, inertia in timed_fit(km, x, threads)]
    processor = None
    # Not the assignment it adds at the end: the others are not charged for theirs.
    seconds, distortion, version = curve[-1][0], km.inertia_ / len(x), sklearn.__version__
print(json.dumps({"seconds": seconds, "processor": processor, "curve": curve, "distortion": distortion, "version": version}))
