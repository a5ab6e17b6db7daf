"""k-means of faiss or scikit-learn from given centres: seconds, and the centres it ends with (saved as .npy)."""
import json
import sys
import time

import numpy

tool, data, start, rounds, threads, out = sys.argv[1:7]
x, c, rounds, threads = numpy.load(data).astype("float32"), numpy.load(start), int(rounds), int(threads)
began = time.perf_counter()
if tool == "faiss":
    import faiss

    faiss.omp_set_num_threads(threads)
    # Without these limits faiss would cluster a sample and keep quiet about it.
    km = faiss.Kmeans(x.shape[1], len(c), niter=rounds, max_points_per_centroid=len(x), min_points_per_centroid=1)
    began = time.perf_counter()
    km.train(x, init_centroids=c)
    centers, version = km.centroids, faiss.__version__
else:
    import sklearn
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        km = KMeans(len(c), init=c, n_init=1, max_iter=rounds, tol=0, algorithm="lloyd").fit(x)
    centers, version = km.cluster_centers_, sklearn.__version__
seconds = time.perf_counter() - began
numpy.save(out, centers.astype("float32"))
print(json.dumps({"seconds": seconds, "version": version}))
