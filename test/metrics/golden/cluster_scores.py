"""Prints cluster-scores.ts: the scores that scikit-learn gives to small labelled sets.

    python3 test/metrics/golden/cluster_scores.py > test/metrics/golden/cluster-scores.ts
    npx biome check --write test/metrics/golden/cluster-scores.ts

The simplified silhouette is not in scikit-learn: it is computed here from its definition.
"""
import json

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.preprocessing import normalize

rng = np.random.default_rng(11)


def blobs(sizes, cols, spread, scale=5.0):
    centres = rng.normal(size=(len(sizes), cols)) * scale
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = centres[labels] + spread * rng.normal(size=(len(labels), cols))
    order = rng.permutation(len(labels))
    return points[order], labels[order]


def simplified(points, labels, cosine):
    names, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rows = normalize(points) if cosine else points
    means = np.array([rows[which == c].mean(axis=0) for c in range(len(names))])
    if cosine:
        distances = 1 - rows @ normalize(means).T
    else:
        distances = np.sqrt(((rows[:, None, :] - means[None, :, :]) ** 2).sum(axis=2))
    own = distances[np.arange(len(rows)), which].copy()
    distances[np.arange(len(rows)), which] = np.inf
    other = distances.min(axis=1)
    scores = (other - own) / np.maximum(own, other)
    scores[counts[which] == 1] = 0
    return scores.mean()


def wrong(labels, share):
    """Some labels replaced by random ones."""
    changed = labels.copy()
    chosen = rng.random(len(labels)) < share
    changed[chosen] = rng.choice(labels, size=chosen.sum())
    return changed


def make(name, points, labels, digits=3):
    points = np.round(points, digits)
    # The library holds 32-bit floats: both sides compute from the same numbers.
    used = points.astype(np.float32).astype(np.float64)
    return {
        "name": name,
        "cols": points.shape[1],
        "points": points.ravel().tolist(),
        "labels": labels.tolist(),
        "silhouette": metrics.silhouette_score(used, labels),
        "silhouetteCosine": metrics.silhouette_score(used, labels, metric="cosine"),
        "simplified": simplified(used, labels, False),
        "simplifiedCosine": simplified(used, labels, True),
        "daviesBouldin": metrics.davies_bouldin_score(used, labels),
        "calinskiHarabasz": metrics.calinski_harabasz_score(used, labels),
    }


sets = []
sets.append(make("blobs in the plane", *blobs([20, 20, 20, 20], 2, 1.0)))
points, labels = blobs([12, 12, 12, 12, 12], 16, 2.0)
sets.append(make("16 dimensions, some labels wrong", points, wrong(labels, 0.2)))
sets.append(make("unequal sizes", *blobs([60, 13, 5, 2], 3, 1.5)))
sets.append(make("a cluster of one", *blobs([15, 1, 17], 3, 1.0)))
points, labels = blobs([10, 11, 12], 5, 2.0)
sets.append(make("labels with gaps", points, np.array([-1, 7, 100000])[labels]))
points, labels = blobs([9, 14, 17], 7, 12.0, 40.0)
sets.append(make("bytes", np.clip(np.round(points + 110), 0, 255), labels, 0))
points = rng.normal(size=(50, 4))
sets.append(make("random labels", points, rng.integers(0, 6, size=50)))
points, labels = blobs([20, 21], 3, 1.0)
sets.append(make("far from zero", points + 10000, labels, 2))

print("/** Made by cluster_scores.py beside this file, which says how. */")
print("// biome-ignore-all lint/suspicious/noApproximativeNumericConstant: the numbers are random")
print("export const CLUSTER_SCORES =", json.dumps({"sklearn": sklearn.__version__, "sets": sets}), "as const")
