/** Numbers that a run needs to continue exactly as if it had not been interrupted, by name. */
export type ResumeArrays = Readonly<Record<string, Float64Array | Float32Array | Uint32Array>>
