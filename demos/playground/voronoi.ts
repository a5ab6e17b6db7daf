/** Cells of the nearest centre in the unit square. */
import { Delaunay } from 'd3-delaunay'

/** Corners of each cell, x and y in turn; of centres in one place all but one have an empty cell. */
export function voronoiCells(centers: Float32Array): number[][] {
  const voronoi = new Delaunay(centers).voronoi([0, 0, 1, 1])
  return Array.from({ length: centers.length / 2 }, (_, i) => {
    const corners: number[][] | null = voronoi.cellPolygon(i)
    // The last corner is the first again.
    return corners ? corners.slice(0, -1).flat() : []
  })
}
