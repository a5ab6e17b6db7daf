# python3 make-faiss.py: writes the files faiss-*.faiss with faiss 1.7, and what searches in them find (faiss.json).
import json
import faiss
import numpy as np

random = np.random.RandomState(5)
centers = random.randn(9, 8) * 4
learned = (centers[random.randint(9, size=300)] + random.randn(300, 8)).astype('float32')
vectors = learned[:120]
queries = (vectors[:6] + random.randn(6, 8) * 0.2).astype('float32')
KINDS = {
    'flat': ('Flat', faiss.METRIC_L2),
    'flat-inner': ('Flat', faiss.METRIC_INNER_PRODUCT),
    'flat-ids': ('IDMap,Flat', faiss.METRIC_L2),
    'pq': ('PQ4x4', faiss.METRIC_L2),
    'pq-5-bits': ('PQ4x5', faiss.METRIC_L2),
    'pq-ids': ('IDMap2,PQ2x6', faiss.METRIC_L2),
    'opq': ('OPQ4,PQ4x4', faiss.METRIC_L2),
    'opq-fewer': ('OPQ2_4,PQ2x4', faiss.METRIC_L2),
    'pq-inner': ('PQ4x4', faiss.METRIC_INNER_PRODUCT),
    'ivf-flat': ('IVF6,Flat', faiss.METRIC_L2),
    'ivf-flat-inner': ('IVF6,Flat', faiss.METRIC_INNER_PRODUCT),
    'ivf-pq': ('IVF6,PQ4x4', faiss.METRIC_L2),
    'ivf-pq-inner': ('IVF6,PQ4x4', faiss.METRIC_INNER_PRODUCT),
    'ivf-opq': ('OPQ4,IVF6,PQ4x4', faiss.METRIC_L2),
    'ivf-rotated': ('RR8,IVF6,PQ2x4', faiss.METRIC_L2),
    'ivf-normalized': ('L2norm,IVF6,Flat', faiss.METRIC_L2),
}
expected = {}
for name, (factory, metric) in KINDS.items():
    index = faiss.index_factory(8, factory, metric)
    index.train(learned)
    # Of some lists only one has vectors, and its numbers are told in pairs.
    rows = vectors[:3] if name == 'ivf-flat' else vectors
    numbers = np.arange(len(rows)) * 7 + 3 if 'ids' in name or name.startswith('ivf') else np.arange(len(rows))
    if 'ids' in name or name.startswith('ivf'):
        index.add_with_ids(rows, numbers)
    else:
        index.add(rows)
    if name.startswith('ivf'):
        faiss.extract_index_ivf(index).nprobe = 3
    faiss.write_index(index, f'faiss-{name}.faiss')
    distances, labels = index.search(queries, 5)
    expected[name] = {'labels': labels.ravel().tolist(), 'distances': [float(f'{x:.7g}') for x in distances.ravel()]}
json.dump({'queries': queries.ravel().tolist(), 'searches': expected}, open('faiss.json', 'w'))
