// biome-ignore-all lint/style/noDefaultExport: the package has one
declare module 's3rver' {
  export default class S3rver {
    constructor(options: object)
    run(): Promise<unknown>
    close(): Promise<void>
  }
}
