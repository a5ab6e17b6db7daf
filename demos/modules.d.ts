/** Modules that bring no types. */
declare module '*.css'

/** The part of d3-delaunay that is used. */
declare module 'd3-delaunay' {
  export class Delaunay {
    /** x, y, x, y. */
    constructor(points: ArrayLike<number>)
    voronoi(bounds: readonly [number, number, number, number]): Voronoi
  }
  export interface Voronoi {
    /** Corners, the first again at the end; null where another point takes the cell. */
    cellPolygon(i: number): [number, number][] | null
  }
}
