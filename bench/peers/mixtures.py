"""
GaussianMixture of scikit-learn with spherical covariances and otherwise its defaults, for rising numbers of components:

    mixtures.py data.npy seed threads seconds k [k ...]

Prints k, its own BIC over all vectors, rounds and seconds of each. It stops before the first k that would take more
than the given seconds, if the time grows with k.
"""
import json
import sys
import time
import warnings

import numpy
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits


def fits(x, seed, limit, ks):
    # Loading libraries is not part of the first run.
    GaussianMixture(2, covariance_type="spherical", max_iter=2).fit(x[:100])
    found = []
    for k in ks:
        if found and found[-1]["seconds"] * k / found[-1]["k"] > limit:
            break
        began = time.perf_counter()
        mixture = GaussianMixture(k, covariance_type="spherical", random_state=seed).fit(x)
        seconds = time.perf_counter() - began
        found.append({"k": k, "bic": float(mixture.bic(x)), "rounds": mixture.n_iter_, "seconds": seconds})
    return found


path, seed, threads, limit, *ks = sys.argv[1:]
warnings.simplefilter("ignore", ConvergenceWarning)
# In 64 bits: variances of components that shrink onto single vectors are differences of large numbers.
vectors = numpy.load(path).astype("float64")
with threadpool_limits(int(threads)):
    result = fits(vectors, int(seed), float(limit), [int(k) for k in ks])
print(json.dumps({"fits": result, "version": sklearn.__version__}))
