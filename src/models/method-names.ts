/** The methods there are, by name, and which options each of them takes. */

/** The methods there are: keys of `METHODS`. */
export type MethodName =
  | 'lloyd'
  | 'akm'
  | 'rakm'
  | 'hkm'
  | 'closures'
  | 'closures-sharp'
  | 'sharp'
  | 'bisecting'
  | 'canopy'
  | 'minibatch'
  | 'lvq'
  | 'egm'
  | 'agm'
  | 'gmm'

const NAMES: Readonly<Record<MethodName, true>> = {
  lloyd: true,
  akm: true,
  rakm: true,
  hkm: true,
  closures: true,
  'closures-sharp': true,
  sharp: true,
  bisecting: true,
  canopy: true,
  minibatch: true,
  lvq: true,
  egm: true,
  agm: true,
  gmm: true,
}

/** Whether there is a method of that name. */
export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(NAMES, name)
}

/** Methods whose candidates can be combined with a custom update, because their centres are means. */
export type CandidatesName = 'lloyd' | 'closures' | 'akm' | 'rakm' | 'canopy'

/** How centres, or labels, can begin. */
export type StartName =
  | 'auto'
  | 'random-labels'
  | 'random'
  | 'kpp'
  | 'kpp-parallel'
  | 'tree'
  | 'sample'
  | 'hkm'
  | 'bisecting'

/** Options of single methods, which are listed first. Giving an option to another method is an error. */
export interface MethodOptions {
  /**
   * closures, closures-sharp: most points of a tree leaf, and so of the neighbours a tree shows a point. Default 10;
   * closures-sharp 0: 16, or 32 from
   * 256 points for each cluster on, as moves make more of neighbours than means do.
   */
  readonly leafSize?: number | undefined
  /**
   * closures, closures-sharp: most partition trees; more find more neighbours and take more memory. Default 10. akm,
   * rakm, agm: trees of the k-d forest. Default 4.
   */
  readonly trees?: number | undefined
  /**
   * closures, closures-sharp: start with one tree and add one when progress slows, or use all trees from the start. Default
   * `adaptive`: the first rounds need few neighbours.
   */
  readonly neighborhoods?: 'adaptive' | 'static' | undefined
  /**
   * closures, closures-sharp: with adaptive neighbourhoods, the maximum number of trees used in a round: the newest first,
   * then all in turn. Default 3.
   */
  readonly treesPerRound?: number | undefined
  /** closures, closures-sharp: add a tree when a round lowers the objective by less than this share. Default 0.01. */
  readonly treeThreshold?: number | undefined
  /** akm, rakm, agm: what searches the centres: a k-means tree, or a forest of randomised k-d trees. Default `kmeans`. */
  readonly index?: 'kd' | 'kmeans' | undefined
  /**
   * akm, rakm: centres measured per search. Default 0: the fewest that reach the precision. agm: components searched
   * for a point each round. Default 0: twice as many as it remembers.
   */
  readonly checks?: number | undefined
  /**
   * akm, rakm: share of searches that should find the true nearest centre. Default 0.9 for akm; 0.5 for rakm, whose later
   * rounds find what earlier ones missed.
   */
  readonly precision?: number | undefined
  /** akm, rakm, agm, hkm: children of a node of the k-means tree. Default 16, 10 for hkm. */
  readonly branching?: number | undefined
  /** rakm: keep the centre of the round before unless the new one is nearer (improvement 1 of its paper). Default true. */
  readonly keep?: boolean | undefined
  /** rakm: rebuild the index with another seed each round (improvement 2). Default true. */
  readonly reseed?: boolean | undefined
  /** rakm: try one more centre each round, the same for all points (improvement 3). Default true. */
  readonly probe?: boolean | undefined
  /** bisecting: the method that splits a cluster in two, and refines. Default `lloyd`. */
  readonly splitMethod?: 'lloyd' | 'sharp' | undefined
  /**
   * bisecting: split the largest cluster next, or the one that spreads most. Default `size`, for clusters of similar
   * size.
   */
  readonly splitOrder?: 'size' | 'spread' | undefined
  /** bisecting: refine all clusters together once there are k. Default false, which keeps the tree for prediction. */
  readonly refine?: boolean | undefined
  /** hkm, bisecting: rounds at each node. Default 5 for hkm, 10 for bisecting. */
  readonly nodeRounds?: number | undefined
  /**
   * canopy: vectors nearer to the centre of a canopy than this fraction of the mean distance do not start a canopy of their
   * own. Default 0.7.
   */
  readonly canopyRadius?: number | undefined
  /**
   * minibatch, lvq: points per batch. Default 1024 for minibatch, 256 for lvq. sharp, closures-sharp, bisecting: points
   * whose moves are proposed at a time. Default 0: 4,096, or a 128th of all points if that is more. 1 is one after the
   * other, as in the paper.
   */
  readonly batch?: number | undefined
  /** sharp, closures-sharp: make the first move that lowers the objective instead of the best one. Default false. */
  readonly firstImprovement?: boolean | undefined
  /** sharp: number of candidates, the clusters nearest to the current one. Default 0: all clusters. */
  readonly nearest?: number | undefined
  /** lvq: initial learning rate, which falls to 0 within 25 rounds. Default 0.01. */
  readonly rate?: number | undefined
  /**
   * egm, agm: what decides how many components there are. Default `bic`: the Bayesian information criterion of the mixture.
   * `overlap`: components that overlap others are removed, as in the paper, which gives large vocabularies.
   */
  readonly criterion?: 'bic' | 'overlap' | undefined
  /**
   * egm, agm, gmm: strength of the prior on the variances, as a number of vectors with the average variance. Default 0.1;
   * without a prior, the likelihood is unbounded if a component shrinks onto a single vector.
   */
  readonly prior?: number | undefined
  /**
   * egm, agm: with criterion `overlap`, how far components expand towards the points of others, 0 to 1. Default 0.2; 0
   * gives the variances of a plain mixture.
   */
  readonly lambda?: number | undefined
  /**
   * egm, agm: with criterion `overlap`, a component is removed if its overlap with the remaining components leaves it less
   * than this fraction of itself. Default 0.55.
   */
  readonly tau?: number | undefined
  /** agm: number of components stored for each point. Default 12. */
  readonly memory?: number | undefined
  /** egm, agm, gmm: initial standard deviation of components. Default 0: that of the vectors around their nearest centre. */
  readonly sigma?: number | undefined
  /** egm, agm, gmm: least standard deviation of a component. Default 0: a thousandth of that of the data. */
  readonly floor?: number | undefined
}

/** The options of each method; test/clustering/options.test.ts compares them with the tables of the methods. */
export interface OptionOfMethod {
  /** It has none. */
  readonly lloyd: never
  /** Options of akm. */
  readonly akm: 'index' | 'trees' | 'branching' | 'checks' | 'precision'
  /** Options of rakm. */
  readonly rakm: 'index' | 'trees' | 'branching' | 'checks' | 'precision' | 'keep' | 'reseed' | 'probe'
  /** Options of hkm. */
  readonly hkm: 'branching' | 'nodeRounds'
  /** Options of closures. */
  readonly closures: 'leafSize' | 'trees' | 'neighborhoods' | 'treesPerRound' | 'treeThreshold'
  /** Options of closures-sharp. */
  readonly 'closures-sharp':
    | 'leafSize'
    | 'trees'
    | 'neighborhoods'
    | 'treesPerRound'
    | 'treeThreshold'
    | 'batch'
    | 'firstImprovement'
  /** Options of sharp. */
  readonly sharp: 'batch' | 'firstImprovement' | 'nearest'
  /** Options of canopy. */
  readonly canopy: 'canopyRadius'
  /** Options of minibatch. */
  readonly minibatch: 'batch'
  /** Options of lvq. */
  readonly lvq: 'batch' | 'rate'
  /** Options of egm. */
  readonly egm: 'criterion' | 'lambda' | 'tau' | 'sigma' | 'floor' | 'prior'
  /** Options of agm. */
  readonly agm:
    | 'criterion'
    | 'lambda'
    | 'tau'
    | 'memory'
    | 'checks'
    | 'index'
    | 'trees'
    | 'branching'
    | 'sigma'
    | 'floor'
    | 'prior'
  /** Options of gmm. */
  readonly gmm: 'sigma' | 'floor' | 'prior'
  /** Options of bisecting. */
  readonly bisecting: 'splitMethod' | 'splitOrder' | 'nodeRounds' | 'refine' | 'batch'
}
