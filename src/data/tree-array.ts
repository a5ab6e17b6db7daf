/** Checks tree.npy, whose form trees/label-tree.ts describes, before anything walks it. */
import { badFolder } from './folder-load.ts'

const LEAF = 0x80000000

/**
 * Nodes are in breadth-first order and children side by side, so the children of the inner nodes, one after the other,
 * are all nodes but the root. That rules out cycles and nodes that nothing leads to.
 */
export function checkTree(tree: Uint32Array, k: number, name: string): void {
  const fail = (what: string): Error =>
    badFolder(`${name} is not a tree over ${k} clusters: ${what}; save the folder again.`)
  const count = tree.length / 2
  if (!Number.isInteger(count) || count < 1) throw fail(`it has ${tree.length} values`)
  const found = new Uint8Array(k)
  let leaves = 0
  let next = 1
  for (let node = 0; node < count; node++) {
    const [first, number] = [tree[node * 2], tree[node * 2 + 1]]
    if (number === LEAF) {
      if (first >= k || found[first] === 1) throw fail(`node ${node} is a leaf for cluster ${first}`)
      found[first] = 1
      leaves++
      continue
    }
    if (first !== next || first <= node || number < 1 || number > count - first) {
      throw fail(`node ${node} has ${number} children from node ${first} on`)
    }
    next += number
  }
  if (next !== count) throw fail(`${count - next} of its ${count} nodes have no parent`)
  if (leaves !== k) throw fail(`it has ${leaves} leaves`)
}
