/** The look of a report: one column that reads on a phone, light and dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #faf9f7; --card: #ffffff; --text: #1d1c1a; --soft: #6a675f; --line: #e3e0d9; --accent: #1f6f78;
  --series-1: #1f6f78; --series-2: #c2571a; --series-3: #4b5fc0; --series-4: #a3326f; --series-5: #5f7f1e; --series-6: #8a6a00; --series-7: #6b4aa0; --series-8: #b3262e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131415; --card: #1b1d1e; --text: #e9e6df; --soft: #9c988e; --line: #2e3132; --accent: #6cc3c6;
    --series-1: #6cc3c6; --series-2: #f0965a; --series-3: #93a4f5; --series-4: #e88abd; --series-5: #a9cc62; --series-6: #e0c050; --series-7: #bfa2ef; --series-8: #f08a8a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: clamp(1.6rem, 5vw, 2.3rem); line-height: 1.2; margin: 0 0 0.75rem; letter-spacing: -0.02em; overflow-wrap: anywhere; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 3rem 0 0.25rem; letter-spacing: -0.01em; }
p { margin: 0.4rem 0 1rem; max-width: 46rem; }
.soft, figcaption, caption { color: var(--soft); }
.lead { font-size: 1.08rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1.1rem 1rem; margin: 1.75rem 0; padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.figures dt { color: var(--soft); font-size: 0.82rem; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.figures .wide { grid-column: 1 / -1; }
.figures .wide dd { font-size: 1rem; letter-spacing: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 1rem; margin-top: 1rem; }
figure { margin: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1rem 0.6rem; min-width: 0; }
.card h3 { font-size: 0.95rem; margin: 0 0 0.5rem; }
.card svg { display: block; width: 100%; height: auto; color: var(--soft); font-size: 12px; }
.plot { overflow: visible; }
.card .plot { font-family: inherit; }
.multiples .plot { overflow: hidden; }
.plot text, .plot tspan { white-space: pre; }
.card figcaption { font-size: 0.85rem; margin: 0.4rem 0; }
.maps { grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); }
.maps .card svg { font-size: 18px; }
.multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: 0.75rem; margin-top: 1rem; }
.multiples .card { padding: 0.7rem 0.7rem 0.3rem; }
.multiples .card h3 { font-size: 0.85rem; margin-bottom: 0.3rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.3rem 1.4rem; margin: 1rem 0 0; padding: 0; font-size: 0.95rem; }
.legend li { display: flex; align-items: center; gap: 0.5rem; overflow-wrap: anywhere; }
.legend svg { width: 1.9rem; height: 0.65rem; flex: none; }
.best { font-weight: 700; color: var(--accent); }
.scroll { overflow-x: auto; }
.scroll svg { min-width: 40rem; }
.gallery { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(var(--tile), 1fr)); gap: 0.9rem 0.6rem; }
.gallery li { text-align: center; font-size: 0.8rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.gallery img { display: block; margin: 0 auto 0.3rem; width: var(--tile); height: auto; image-rendering: pixelated; border-radius: 4px; }
.gallery b { font-size: 0.95rem; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; padding: 0.4rem 0; color: var(--accent); font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; min-width: 18rem; }
caption { text-align: left; padding: 0.3rem 0; }
th, td { text-align: right; white-space: nowrap; padding: 0.25rem 1.1rem 0.25rem 0; border-bottom: 1px solid var(--line); }
tbody th, thead th:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 500; }
tbody th { font-weight: 600; }
code { display: block; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.7rem 0.9rem; overflow-x: auto; font: 0.85rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
@media (max-width: 32rem) { main { padding-top: 1.5rem; } .figures { grid-template-columns: 1fr 1fr; } .gallery { gap: 0.9rem 4px; } .card svg { font-size: 16px; } .multiples { grid-template-columns: 1fr 1fr; } }
@media print { details > * { display: block; } .card, li { break-inside: avoid; } }
`
