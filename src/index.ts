/** The public door: everything else is free to change. */

export { cluster, clusterSteps } from './clustering/cluster.ts'
export type { AnyClusterOptions, ClusterOptions, CommonOptions, StartChoice } from './clustering/cluster-options.ts'
export type { MethodOption, SettingValue } from './clustering/method-options.ts'
export { CLUSTER_DEFAULTS, START_NAMES } from './clustering/options.ts'
export type { CandidateRequest, CandidateTable, OwnMethod, UpdateRequest } from './clustering/own-method.ts'
export { METHODS } from './clustering/presets.ts'
export type { Machines } from './clustering/remote-owners.ts'
export type { ClusterStep } from './clustering/run-once.ts'
export type { Method } from './clustering/run-state.ts'
export { SWEEP_DEFAULTS, type SweepOptions, type SweepRange } from './clustering/sweep/options.ts'
export type { SweepBest, SweepResult, SweepStep } from './clustering/sweep/result.ts'
export { sweep, sweepSteps } from './clustering/sweep.ts'
export { type TuneOptions, type Tuning, tune } from './clustering/tune.ts'
export type { FileLocation, Location } from './core/bytes.ts'
export { CentroidalError, type ErrorCode } from './core/errors.ts'
export {
  type ElementType,
  type Matrix,
  matrix,
  toArrays,
  type Vector,
  type VectorData,
  type VectorInput,
  type VectorSource,
  type WideMatrix,
} from './core/matrix.ts'
export { meantName, nearestName } from './core/nearest-name.ts'
export type { OnProgress } from './core/progress.ts'
export { createRandom, type Random } from './core/random.ts'
export { sampleRows } from './core/sampled-source.ts'
export { vectorsOf } from './core/selected.ts'
export { type SparseMatrix, type SparseParts, sparseMatrix } from './core/sparse.ts'
export type { ReadOptions } from './data/columns.ts'
export { readSavedText } from './data/folder-load.ts'
export { type Integers, openVectors, readIntegers, readSparse, readVectors } from './data/read.ts'
export type { SaveOptions } from './data/saved-texts.ts'
export { type Blobs, type BlobsOptions, blobs } from './data/synthetic.ts'
export { labelBytes, vectorBytes, type WriteOptions, writeLabels, writeNeighbors, writeVectors } from './data/write.ts'
export type { Device, DeviceInfo, DeviceKind, DeviceLimits, RunControl } from './device/contract.ts'
export { type DeviceListing, type DeviceOptions, listDevices } from './device/open.ts'
export type { DeviceSpeed, Speed } from './device/speed.ts'
export type { ClusterEvent, WorkerFacts } from './distributed/cluster-events.ts'
export { type ConnectOptions, connect, type MachinePool } from './distributed/connect.ts'
export { type Manifest, type ShardEntry, type ShardingOptions, writeShards } from './distributed/manifest.ts'
export type { ShardWorkOptions } from './distributed/pool-jobs.ts'
export type { RoundTraffic } from './distributed/round-traffic.ts'
export type { ShardOutput } from './distributed/shard-jobs.ts'
export { openShards, type ShardedVectors } from './distributed/shard-source.ts'
export { type WorkerOptions, work } from './distributed/worker.ts'
export type { FormTiming } from './kernels/measured-forms.ts'
export { normalize } from './math/normalize.ts'
export { type PrincipalAxes, principalAxes } from './math/principal.ts'
export { bic } from './metrics/bic.ts'
export { calinskiHarabasz, daviesBouldin } from './metrics/cluster-scores.ts'
export { distortion, imbalance } from './metrics/distortion.ts'
export { adjustedRandIndex, entropy, type Labels, normalizedMutualInformation, purity } from './metrics/partition.ts'
export {
  averagePrecision,
  judgeRankings,
  meanAveragePrecision,
  nsScore,
  type RankingQuality,
} from './metrics/ranking.ts'
export { type FoundLists, type NeighborLists, overlapAt, recallAt } from './metrics/recall.ts'
export {
  type ScoreOptions,
  SILHOUETTE_EXACT_ROWS,
  type SilhouetteOptions,
  silhouette,
} from './metrics/silhouette.ts'
export type { CountCertainty } from './models/certainty.ts'
export type {
  CommonFacts,
  MethodFacts,
  MethodSettings,
  ModelFacts,
  OwnFacts,
  RunFacts,
  SampleFacts,
} from './models/facts.ts'
export type { CandidatesName, MethodName, MethodOptions, OptionOfMethod, StartName } from './models/method-names.ts'
export { ClusterModel, loadModel, MODEL_VERSION, type PredictOptions } from './models/model.ts'
export type { Prediction, Responsibilities } from './models/prediction.ts'
export type { ExtraFacts, IterationStats, StopReason } from './models/stats.ts'
export type { ClusterMember, ClusterSummary, SummaryOptions } from './models/summaries.ts'
export { CODE_DISTANCES, type CodeDistance, type CodeSearchOptions } from './quantize/flat-search.ts'
export {
  QUANTIZER_DEFAULTS,
  QUANTIZER_TYPES,
  type QuantizerOptions,
  type QuantizerType,
  type ResolvedQuantizerOptions,
  SUBSPACE_ORDERS,
  type SubspaceOrder,
} from './quantize/options.ts'
export { type CodingOptions, loadQuantizer, Quantizer, type QuantizerFacts } from './quantize/quantizer.ts'
export type { RankedCodes } from './quantize/ranked.ts'
export type { QuantizerStats, QuantizerStop } from './quantize/stats.ts'
export { trainQuantizer } from './quantize/train.ts'
export type { Bag } from './retrieval/bags.ts'
export {
  buildIndex,
  ImageIndex,
  INDEX_VERSION,
  type IndexOptions,
  loadIndex,
  type QueryOptions,
  type QueryRanking,
} from './retrieval/image-index.ts'
export type { SoftWordOptions, WordOptions } from './retrieval/visual-words.ts'
export type { Ranking } from './retrieval/word-index.ts'
export { type AddOptions, CodeIndex, type CodeIndexOptions, type IndexSearchOptions } from './search/code-index.ts'
export { type FaissOptions, faissBytes } from './search/faiss.ts'
export { type FaissContents, readFaiss } from './search/faiss-read.ts'
export type { FileContent, FileOptions, InvertedFileOptions, InvertedSearchOptions } from './search/file-options.ts'
export { type NeighborOptions, type Neighbors, nearest, SEARCH_METRICS, type SearchMetric } from './search/flat.ts'
export type { IdFilter } from './search/id-filter.ts'
export { InvertedFile } from './search/inverted-file.ts'
export type { ByteScale } from './search/kept-bytes.ts'
export { type PartitionTreeOptions, partitionTrees, type TreeLeaves } from './search/partition-trees.ts'
export { rerank } from './search/rerank.ts'
export {
  type AddVectorsOptions,
  VectorLists,
  type VectorSearchOptions,
} from './search/vector-lists.ts'
export { type DeviceChoice, type OwnDevice, openDevice } from './vectors/device-choice.ts'
export type { WorkOptions } from './vectors/work-options.ts'
