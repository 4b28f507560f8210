// Data of the page: the index, and chunks that are read when they are shown.

const policy = window.trustedTypes?.createPolicy('local-judge', {
  createScriptURL(path) {
    if (!/^data\/[a-z]+-\d+\.js$/.test(path)) throw new TypeError('not a data file of this page');
    return path;
  },
});

const waiting = new Map();
const chunks = new Map();
let index = null;

/** Called by the data files of a page in a folder. */
window.localJudge = (name, data) => waiting.get(name)?.(data);

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

/** Return the text of a chunk: from the page, or from its file beside the page. */
function packed(name) {
  const there = document.getElementById(name);
  if (there) return Promise.resolve(there.textContent);
  return new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    const script = document.createElement('script');
    const path = `data/${name}.js`;
    script.src = policy ? policy.createScriptURL(path) : path;
    script.addEventListener('error', () => reject(new Error(`${path} is missing beside the page`)));
    document.head.append(script);
  });
}

/** Return a chunk; each is read once. */
function chunk(name) {
  if (!chunks.has(name)) chunks.set(name, packed(name).then(unpacked));
  return chunks.get(name);
}

/** Outcomes of a claim and a page: words, tone and sign. */
const OUTCOMES = {
  contradicted: ['contradicted', 'bad', '✕', 'The page says the opposite.'],
  not_found: ['not found', 'bad', '∅', 'The page does not say it.'],
  off_topic: ['off topic', 'bad', '≠', 'The page is about something else.'],
  partial: ['partly supported', 'part', '◐', 'The page supports a part of it.'],
  dead: ['dead link', 'poor', '†', 'The address leads to no page.'],
  no_source: ['no source', 'poor', '○', 'It needs a source and has none that can be looked up.'],
  unusable: ['unusable page', 'open', '⊠', 'The judge sees an error message, a captcha or the like in place of a page.'],
  blocked: ['blocked', 'open', '⊘', 'The server refuses this reader, or the fetcher may not ask.'],
  empty: ['empty page', 'open', '□', 'The page has no text.'],
  failed: ['no answer', 'open', '!', 'The judge gave no valid answer.'],
  unavailable: ['unavailable', 'open', '⌁', 'The server gave no usable answer.'],
  unsupported_type: ['unreadable file', 'open', '?', 'The file cannot be read as text.'],
  not_in_snapshot: ['not in snapshot', 'open', '…', 'The page was not fetched.'],
  supported: ['supported', 'good', '✓', 'The page says it.'],
  needs_no_source: ['needs no source', 'calm', '·', 'It repeats the report, or needs no evidence.'],
};
const outcomeWords = outcome => OUTCOMES[outcome]?.[0] ?? outcome.replaceAll('_', ' ');
const outcomeTone = outcome => OUTCOMES[outcome]?.[1] ?? 'calm';

const numbers = () => index.overview;
const nameOf = report => report.system ?? 'no system named';
const severalRuns = () => numbers().runs.length > 1;

/** Return the value of an attribute of a report; empty if it has none. */
const attribute = (report, name) => name === 'task' ? report.task ?? '' : report.attributes?.[name] ?? '';

/** Return the values of an attribute over all reports, in order. */
const values = name => [...new Set(numbers().reports.map(report => attribute(report, name)).filter(Boolean))].sort();

/** Return the index of the row that a report's scores belong to. */
function rowOf(report) {
  return numbers().rows.findIndex(row => row.run === report.run && !row.judge && (row.system ?? null) === (report.system ?? null));
}

/** Return the scale of a column with its defaults; null if no scale is meant. */
function scaleOf(column) {
  if (!column.scale) return null;
  const { low = 0, high = 100, better = 'higher' } = column.scale;
  return { low, high, better };
}

/** Return a value from 0 (worst) to 1 (best); null without a scale that ends. */
function share(value, column) {
  const scale = scaleOf(column);
  if (value === null || value === undefined || !scale || scale.high === null) return null;
  const part = Math.max(0, Math.min(1, (value - scale.low) / (scale.high - scale.low)));
  return scale.better === 'higher' ? part : 1 - part;
}

/** Return the rows of the ensemble or the only judge, or those of all judges. */
const mainRows = () => numbers().rows.filter(row => !row.judge);
