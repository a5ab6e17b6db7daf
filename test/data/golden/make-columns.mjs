/**
 * Makes the Parquet and Arrow files of this folder with Polars (nodejs-polars 0.26) and, for what Polars does not write,
 * with DuckDB (@duckdb/node-api) and apache-arrow 21. Those packages are not dependencies: install them in another folder,
 * copy this file there and run it with the folder to write to.
 *     node make-columns.mjs <folder>
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import * as arrow from 'apache-arrow'
import polars from 'nodejs-polars'

const folder = process.argv[2]
const a = Array.from({ length: 5 }, (_, i) => Array.from({ length: 3 }, (_, j) => i * 3 + j - 4 + 0.5))
const column = (j) => a.map((row) => row[j])
const name = ['ant', 'bee, the', 'c"at', 'dög', 'elk']
const floats = (j) => polars.Series('', column(j), polars.Float32)

const wide = polars.DataFrame({ name, x: floats(0), y: floats(1), z: floats(2) })
for (const compression of ['uncompressed', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli']) {
  wide.writeParquet(join(folder, `polars-${compression}.parquet`), { compression })
}
for (const compression of ['uncompressed', 'lz4', 'zstd']) {
  wide.writeIPC(join(folder, `polars-${compression}.arrow`), { compression })
}
// Long enough that compression makes it smaller.
const long = polars.DataFrame({
  x: Array.from({ length: 3000 }, (_, i) => i % 7),
  y: Array.from({ length: 3000 }, (_, i) => i % 5),
})
for (const compression of ['lz4', 'zstd'])
  long.writeIPC(join(folder, `polars-long-${compression}.arrow`), { compression })

const duck = await (await DuckDBInstance.create(':memory:')).connect()
const rows = a.map((row, i) => `(${i}, '${name[i]}', [${row.map((value) => `${value}::FLOAT`)}])`)
await duck.run(`CREATE TABLE vectors AS SELECT * FROM (VALUES ${rows}) AS t(id, name, embedding)`)
await duck.run(`COPY vectors TO '${join(folder, 'duckdb-lists.parquet')}' (FORMAT parquet)`)
await duck.run(
  `COPY (SELECT id AS page, name, unnest(embedding) AS value FROM vectors) TO '${join(folder, 'duckdb-long.parquet')}' (FORMAT parquet)`,
)
await duck.run(
  `COPY (SELECT (x // 500)::DOUBLE AS x, (x % 10)::BIGINT AS y FROM range(5000) t(x)) TO '${join(folder, 'duckdb-groups.parquet')}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`,
)
await duck.run(
  `COPY (SELECT 1.5 AS x, NULL::FLOAT AS y UNION ALL SELECT 2, 3) TO '${join(folder, 'duckdb-nulls.parquet')}' (FORMAT parquet)`,
)
await duck.run(
  `COPY (SELECT 1.5::FLOAT AS x, 2::FLOAT AS y LIMIT 0) TO '${join(folder, 'duckdb-0-rows.parquet')}' (FORMAT parquet)`,
)
await duck.run(
  `COPY (SELECT [[1::FLOAT]] AS nested, [1::FLOAT, 2] AS a, [3::FLOAT] AS b) TO '${join(folder, 'duckdb-nested.parquet')}' (FORMAT parquet)`,
)
await duck.run(
  `COPY (SELECT [1::FLOAT, 2] AS v UNION ALL SELECT [3::FLOAT]) TO '${join(folder, 'duckdb-ragged.parquet')}' (FORMAT parquet)`,
)

const list = new arrow.List(new arrow.Field('item', new arrow.Float32()))
const fixed = new arrow.FixedSizeList(3, new arrow.Field('item', new arrow.Float64()))
const batch = (start, end) =>
  new arrow.Table({
    name: arrow.vectorFromArray(name.slice(start, end), new arrow.Utf8()),
    embedding: arrow.vectorFromArray(a.slice(start, end), list),
  })
const two = batch(0, 2).concat(batch(2, 5))
writeFileSync(join(folder, 'lists.arrow'), arrow.tableToIPC(two, 'file'))
writeFileSync(join(folder, 'lists.arrows'), arrow.tableToIPC(two, 'stream'))
writeFileSync(
  join(folder, 'fixed.feather'),
  arrow.tableToIPC(new arrow.Table({ v: arrow.vectorFromArray(a, fixed) }), 'file'),
)
const mixed = new arrow.Table({
  whole: arrow.vectorFromArray([1n, 2n, 3n], new arrow.Int64()),
  small: arrow.vectorFromArray([1, -2, 3], new arrow.Int8()),
  yes: arrow.vectorFromArray([true, false, true], new arrow.Bool()),
  kind: arrow.vectorFromArray(['a', 'b', 'a']),
})
writeFileSync(join(folder, 'mixed.arrow'), arrow.tableToIPC(mixed, 'file'))
const nulls = new arrow.Table({ x: arrow.vectorFromArray([1, null, 3], new arrow.Float32()) })
writeFileSync(join(folder, 'nulls.arrow'), arrow.tableToIPC(nulls, 'file'))
const none = new arrow.Table({ x: arrow.vectorFromArray([], new arrow.Float32()) })
writeFileSync(join(folder, '0-rows.arrow'), arrow.tableToIPC(none, 'file'))
