"""Prints spherical-gmm.ts: what scikit-learn makes of a small mixture from a given start.

    python3 test/clustering/golden/spherical_gmm.py > test/clustering/golden/spherical-gmm.ts
    npx biome check --write test/clustering/golden/spherical-gmm.ts
"""
import json

import numpy as np
import sklearn
from sklearn.mixture import GaussianMixture

ROUNDS = 12
SIGMA = 0.8

rng = np.random.default_rng(7)
modes = rng.normal(size=(4, 3)) * 2
sds = np.array([0.3, 0.5, 0.8, 1.1])
which = rng.choice(4, size=120, p=[0.1, 0.2, 0.3, 0.4])
points = np.round(modes[which] + sds[which, None] * rng.normal(size=(120, 3)), 4)
start = points[[0, 3, 5, 8]]
mixture = GaussianMixture(
    4,
    covariance_type="spherical",
    tol=0,
    reg_covar=0,
    max_iter=ROUNDS,
    weights_init=np.full(4, 0.25),
    means_init=start,
    precisions_init=np.full(4, 1 / SIGMA**2),
)
with np.errstate(all="ignore"):
    import warnings

    warnings.simplefilter("ignore")
    mixture.fit(points)

golden = {
    "sklearn": sklearn.__version__,
    "rounds": ROUNDS,
    "sigma": SIGMA,
    "cols": 3,
    "points": points.ravel().tolist(),
    "start": start.ravel().tolist(),
    "weights": mixture.weights_.round(6).tolist(),
    "means": mixture.means_.ravel().round(6).tolist(),
    "variances": mixture.covariances_.round(6).tolist(),
    "logLikelihood": round(float(mixture.lower_bound_), 6),
    "shares": mixture.predict_proba(points[:5]).ravel().round(6).tolist(),
}
print("/** Made by spherical_gmm.py beside this file: how is said there. */")
print("// biome-ignore-all lint/suspicious/noApproximativeNumericConstant: numbers are what they are")
print("export const SPHERICAL_GMM =", json.dumps(golden), "as const")
