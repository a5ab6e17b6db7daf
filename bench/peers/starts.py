"""
Blobs of scikit-learn, written as .npy, or KMeans of scikit-learn with its defaults from several seeds in one process:

    starts.py blobs out.npy rows cols centers seed
    starts.py kmeans data.npy k first_seed seeds n_init threads

The second prints the inertia of the centres and labels of each run, summed in 64 bits, and its seconds.
"""
import json
import sys
import time

import numpy
import sklearn


def blobs(out, rows, cols, centers, seed):
    from sklearn.datasets import make_blobs

    x, _ = make_blobs(rows, n_features=cols, centers=centers, random_state=seed)
    numpy.save(out, x.astype("float32"))
    return {}


def kmeans(data, k, first_seed, seeds, n_init, threads):
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    x = numpy.load(data).astype("float32")
    inertias, times = [], []
    with threadpool_limits(threads):
        # Loading libraries is not part of the first run.
        KMeans(2, n_init=1, max_iter=2).fit(x[:100])
        for seed in range(first_seed, first_seed + seeds):
            began = time.perf_counter()
            km = KMeans(k, n_init=n_init, random_state=seed).fit(x)
            times.append(time.perf_counter() - began)
            inertias.append(exact_inertia(x, km.cluster_centers_, km.labels_))
    return {"inertias": inertias, "seconds": times, "version": sklearn.__version__}


def exact_inertia(x, centers, labels):
    total = 0.0
    for start in range(0, len(x), 10_000):
        rows = slice(start, start + 10_000)
        difference = x[rows].astype("float64") - centers[labels[rows]].astype("float64")
        total += float((difference * difference).sum())
    return total


command, path, *numbers = sys.argv[1:]
print(json.dumps({"blobs": blobs, "kmeans": kmeans}[command](path, *map(int, numbers))))
