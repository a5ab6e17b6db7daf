"""
FLANN by its C library: the k-means tree cut to k cells (`tree`), or k-means that looks its centres up
in randomised k-d trees (`forest`). Prints distortion over time and saves the final centres as .npy.
"""
import ctypes
import json
import sys
import time

import numpy

how, data, k, rounds, threads, out = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]
TREES, CHECKS, BRANCHING = 8, 64, 10
KDTREE, KMEANS = 1, 2


class Parameters(ctypes.Structure):
    _fields_ = [
        ("algorithm", ctypes.c_int),
        ("checks", ctypes.c_int),
        ("eps", ctypes.c_float),
        ("sorted", ctypes.c_int),
        ("max_neighbors", ctypes.c_int),
        ("cores", ctypes.c_int),
        ("trees", ctypes.c_int),
        ("leaf_max_size", ctypes.c_int),
        ("branching", ctypes.c_int),
        ("iterations", ctypes.c_int),
        ("centers_init", ctypes.c_int),
        ("cb_index", ctypes.c_float),
        ("target_precision", ctypes.c_float),
        ("build_weight", ctypes.c_float),
        ("memory_weight", ctypes.c_float),
        ("sample_fraction", ctypes.c_float),
        ("table_number", ctypes.c_uint),
        ("key_size", ctypes.c_uint),
        ("multi_probe_level", ctypes.c_uint),
        ("log_level", ctypes.c_int),
        ("random_seed", ctypes.c_long),
    ]


flann = ctypes.CDLL("libflann.so.1.9")
flann.flann_build_index_float.restype = ctypes.c_void_p
parameters = Parameters.from_buffer_copy(Parameters.in_dll(flann, "DEFAULT_FLANN_PARAMETERS"))
parameters.target_precision = -1
parameters.cores = threads
parameters.random_seed = 1


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def search(x, centers, number):
    """The nearest centres as a forest of k-d trees finds them, and the squared distances."""
    parameters.algorithm, parameters.trees, parameters.checks = KDTREE, TREES, CHECKS
    parameters.random_seed = number
    speedup = ctypes.c_float()
    rows, cols = centers.shape
    index = ctypes.c_void_p(
        flann.flann_build_index_float(pointer(centers), rows, cols, ctypes.byref(speedup), ctypes.byref(parameters))
    )
    labels, distances = numpy.empty(len(x), "int32"), numpy.empty(len(x), "float32")
    failed = flann.flann_find_nearest_neighbors_index_float(
        index, pointer(x), len(x), pointer(labels), pointer(distances), 1, ctypes.byref(parameters)
    )
    flann.flann_free_index_float(index, ctypes.byref(parameters))
    assert failed == 0
    return labels, distances


def means(x, labels, centers):
    order = numpy.argsort(labels, kind="stable")
    used, first, counts = numpy.unique(labels[order], return_index=True, return_counts=True)
    moved = centers.copy()
    moved[used] = numpy.add.reduceat(x[order], first, axis=0) / counts[:, None]
    return moved


x = numpy.ascontiguousarray(numpy.load(data).astype("float32"))
began = time.perf_counter()
curve = []
if how == "tree":
    parameters.algorithm, parameters.branching, parameters.iterations = KMEANS, BRANCHING, rounds
    centers = numpy.empty((k, x.shape[1]), "float32")
    # It may make a few less than asked: it splits a cell in ten or not at all.
    made = flann.flann_compute_cluster_centers_float(
        pointer(x), *x.shape, k, pointer(centers), ctypes.byref(parameters)
    )
    assert made > 0
    centers, looked = centers[:made], "-"
else:
    centers, looked = numpy.ascontiguousarray(x[numpy.random.default_rng(1).permutation(len(x))[:k]]), CHECKS
    for number in range(rounds):
        labels, distances = search(x, centers, number + 1)
        centers = means(x, labels, centers)
        curve.append([time.perf_counter() - began, float(distances.mean())])
seconds = time.perf_counter() - began
numpy.save(out, centers)
print(json.dumps({"seconds": seconds, "curve": curve, "looked": looked}))
