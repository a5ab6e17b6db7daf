/** What an explanation draws and says about the chosen point. */
import type { Pen } from './plane.ts'

export interface Theme {
  readonly dark: boolean
  readonly ink: string
  readonly soft: string
  readonly accent: string
}

export interface Scene {
  readonly points: Float32Array
  /** The point that is chosen first. */
  readonly first: number
  draw(pen: Pen, step: string, selected: number, theme: Theme): void
  readout(step: string, selected: number): string
  /** What is highlighted, as numbers: a test compares them with the library. */
  facts(selected: number): Readonly<Record<string, string>>
}
