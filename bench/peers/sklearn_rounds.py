"""When each round of scikit-learn's k-means was done, and its inertia: only its messages tell."""
import contextlib
import re
import time

import sklearn.cluster
from threadpoolctl import threadpool_limits


class _Rounds:
    def __init__(self):
        self.began = time.perf_counter()
        self.found = []

    def write(self, text):
        said = re.match(r"Iteration \d+, inertia ([^ ]+)\.", text)
        if said:
            self.found.append((time.perf_counter() - self.began, float(said[1])))

    def flush(self):
        pass


def timed_fit(km: sklearn.cluster.KMeans, x, threads):
    """Fits, and gives (seconds, inertia) of each round."""
    km.set_params(verbose=1)
    rounds = _Rounds()
    with threadpool_limits(threads), contextlib.redirect_stdout(rounds):
        km.fit(x)
    return rounds.found
