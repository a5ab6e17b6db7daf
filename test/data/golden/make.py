"""Makes the golden files of this folder that Python's libraries write.

Run with Debian's packages: python3-numpy python3-scipy python3-pandas python3-h5py.
    /usr/bin/python3 make.py
The numbers: a[i, j] = i * 3 + j - 4 + 0.5 for i < 5, j < 3 (whole numbers: without the 0.5).
"""
import gzip
import json
import struct

import h5py
import numpy as np
import pandas as pd
import scipy.sparse

a = np.array([[i * 3 + j - 4 + 0.5 for j in range(3)] for i in range(5)])
whole = np.floor(a)

for name in ['float16', 'float32', 'float64', 'int8', 'int16', 'int32', 'int64']:
    np.save(f'npy-{name}.npy', (a if name.startswith('float') else whole).astype(name))
for name in ['uint8', 'uint16', 'uint32', 'uint64']:
    np.save(f'npy-{name}.npy', (whole + 4).astype(name))
np.save('npy-bool.npy', whole > 3)
np.save('npy-fortran.npy', np.asfortranarray(a.astype('<f4')))
np.save('npy-big-endian.npy', a.astype('>f8'))
np.save('npy-big-endian-fortran.npy', np.asfortranarray(whole.astype('>i2')))
np.save('npy-half-special.npy', np.array([[6e-8, -6e-8, 65504, np.inf, -np.inf, np.nan, -0.0, 1 / 3]], 'float16'))
np.save('npy-0-rows.npy', np.zeros((0, 3), 'f4'))
np.save('npy-complex.npy', a.astype('complex64'))
np.save('npy-far.npy', 1.7e9 + np.array([[-1.0, 0], [-1.0001, 0.0001], [1, 0], [1.0001, 0.0001]]))

np.savez('arrays.npz', train=a.astype('f4'), test=a[:2].astype('f4'))
np.savez_compressed('one-array.npz', a.astype('f4'))
sparse = scipy.sparse.csr_matrix(np.array([[0, 1.5, 0, 0, -2], [0, 0, 0, 0, 0], [3, 0, 0.25, 0, 0]], 'f4'))
scipy.sparse.save_npz('sparse-csr.npz', sparse)
scipy.sparse.save_npz('sparse-csc.npz', sparse.tocsc())
coo = scipy.sparse.coo_matrix((np.array([3, 0.25, 1.5, -1, -1], 'f4'), ([2, 2, 0, 0, 0], [0, 2, 1, 4, 4])), (3, 5))
scipy.sparse.save_npz('sparse-coo.npz', coo)
scipy.sparse.save_npz('sparse-bsr.npz', sparse.tobsr((1, 1)))

with h5py.File('benchmark.hdf5', 'w') as f:
    f.attrs['distance'] = 'euclidean'
    f.create_dataset('train', data=a.astype('f4'))
    f.create_dataset('test', data=a[:2].astype('f4'))
    f.create_dataset('neighbors', data=np.array([[0, 1], [1, 0]], 'i4'))
    f.create_dataset('distances', data=np.array([[0, 5], [0, 5]], 'f4'))
with h5py.File('chunked.h5', 'w') as f:
    f.create_dataset('deep/vectors', data=a, chunks=(2, 2), compression='gzip', shuffle=True)
with h5py.File('empty.h5', 'w') as f:
    f.create_dataset('vectors', data=np.zeros((0, 3), 'f4'))
with h5py.File('types.h5', 'w') as f:
    for name in ['>f8', '<f2', '|i1', '<u2', '<i8']:
        f.create_dataset(name[1:], data=(a if 'f' in name else whole).astype(name))
    f.create_dataset('words', data=['one', 'two'])

frame = pd.DataFrame(a, columns=['x', 'y', 'z'])
frame.to_csv('pandas-index.csv')
pd.DataFrame(a).to_csv('pandas-numbered.csv', index=False)
pd.DataFrame(a).to_csv('pandas-index-numbered.csv')
named = frame.copy()
named.insert(0, 'name', ['ant', 'bee, the', 'c"at', 'dög', 'elk'])
named.to_csv('pandas-named.csv', index=False)
named.set_index('name').to_csv('pandas-named-index.csv')
named.to_csv('pandas-named-and-index.csv')
frame.iloc[:0].to_csv('pandas-0-rows.csv', index=False)
named.to_json('pandas-records.jsonl', orient='records', lines=True)
with open('embeddings.jsonl', 'w') as f:
    for i, row in enumerate(a):
        f.write(json.dumps({'id': f'doc{i}', 'page': i, 'embedding': list(row)}) + '\n')
with open('arrays.jsonl', 'w') as f:
    for row in a:
        f.write(json.dumps(list(row)) + '\n')

with gzip.GzipFile('pandas-index.csv.gz', 'wb', mtime=0) as f:
    f.write(open('pandas-index.csv', 'rb').read())
with gzip.GzipFile('npy-float64.npy.gz', 'wb', mtime=0) as f:
    f.write(open('npy-float64.npy', 'rb').read())

# Written by the description of the format: Debian has no package of safetensors.
def safetensors(file, tensors):
    header, data = {'__metadata__': {'format': 'np'}}, b''
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {'dtype': dtype, 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    open(file, 'wb').write(struct.pack('<Q', len(text)) + text + data)

bfloat16 = (a.astype('<f4').view('<u4') >> 16).astype('<u2')
safetensors('one.safetensors', {'weight': ('F32', a.astype('<f4')), 'bias': ('F32', np.zeros(3, '<f4'))})
safetensors('types.safetensors', {
    'bf16': ('BF16', bfloat16), 'f16': ('F16', a.astype('<f2')), 'i8': ('I8', whole.astype('i1')),
    'i64': ('I64', whole.astype('<i8')), 'cube': ('F32', np.zeros((2, 2, 2), '<f4')), 'f8': ('F8_E4M3', np.zeros((2, 2), 'u1')),
})
