/** The package ships no types. */
declare module 'wgsl-preprocessor/wgsl-preprocessor.js' {
  /** WGSL with #if, #elif, #else and #endif, each followed by a template expression. */
  export function wgsl(strings: TemplateStringsArray, ...values: unknown[]): string
}
