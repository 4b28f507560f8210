// Charts, drawn by Observable Plot. Each has a text alternative and a table with the same numbers.

const chartWidth = (most = 640) => Math.min(most, document.getElementById('main').clientWidth - 32);

/** Return a chart with its title, a text for those who do not see it, and its numbers. */
function figure(title, text, options, head, rows, given = {}) {
  const svg = Plot.plot({
    className: 'plot', width: chartWidth(given.width), marginLeft: 16, style: { background: 'transparent', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
    ...options,
  });
  for (const part of svg.querySelectorAll('[aria-label], [aria-description]')) {
    part.removeAttribute('aria-label');
    part.removeAttribute('aria-description');
  }
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', plain(`${title}. ${text}`));
  return el('figure', {}, el('figcaption', {}, title), svg, given.legend ?? null,
    el('details', {}, el('summary', {}, 'Numbers'), table(title, head, rows, { quiet: true })));
}

const hue = place => `var(--hue-${place % 8})`;
const SYMBOLS = ['circle', 'square', 'triangle', 'diamond', 'star', 'cross', 'wye', 'circle'];

/** Return a key of systems with their colours. */
const legend = names => names.length < 2 ? null : el('p.legend', {}, names.map((name, place) => {
  const mark = el('span.hue', { 'aria-hidden': 'true' });
  mark.style.setProperty('background', hue(place));
  return el('span', {}, mark, words(name));
}));

const right = content => cell(content, { class: 'number' });

/** Return a name of at most this length, without its middle: names of one system's versions differ at their ends. */
function cut(text, most = 34) {
  const letters = [...plain(text)];
  const head = Math.ceil((most - 1) / 2);
  return letters.length > most ? [...letters.slice(0, head), '…', ...letters.slice(head + 1 - most)].join('') : letters.join('');
}
const marginFor = labels => Math.min(270, 24 + 7 * Math.max(...labels.map(label => label.length)));

function chartSections() {
  return [intervals(), differences(), profiles(), byAttribute(), labelShares(), length(), agreement(), reliability()].filter(Boolean);
}

/** Return the first charts, and the others folded. */
function folded(charts, first, what, wide = '') {
  const grid = some => el(`div.charts${wide}`, {}, some);
  return [grid(charts.slice(0, first)), charts.length > first
    ? el('details', {}, el('summary', {}, `${charts.length - first} more ${what}`), grid(charts.slice(first))) : null];
}

/** Return bars with intervals: one chart for each score that sums up a report. */
function intervals() {
  const { columns } = numbers();
  const rows = mainRows();
  const heads = columns.map((column, place) => [column, place]).filter(([column]) => column.headline && scaleOf(column));
  if (rows.length < 2 || !heads.length) return null;
  const charts = heads.map(([column, place]) => {
    const { low, high } = scaleOf(column);
    const data = rows.map((row, n) => ({ name: cut(row.name), n, found: row.cells[place] })).filter(one => one.found && one.found.value !== null);
    if (!data.length) return null;
    const text = data.map(one => `${one.name} ${number(one.found.value)}${endsOf(one.found) ? ` (${endsOf(one.found).map(end => number(end)).join(' to ')})` : ''}`).join('; ');
    return figure(`${column.protocol}: ${column.label}`, text, {
      height: 34 + 22 * data.length, marginLeft: marginFor(data.map(one => one.name)), marginTop: 6, marginBottom: 24, marginRight: 46,
      x: { domain: [low, high ?? Math.max(low + 1, ...data.flatMap(one => [one.found.value, ...(endsOf(one.found) ?? [])]))], label: null, ticks: 4, grid: true }, y: { label: null, domain: data.map(one => one.name), tickSize: 0 },
      marks: [
        Plot.barX(data, { x1: low, x2: one => one.found.value, y: 'name', fill: one => hue(one.n), fillOpacity: 0.75, insetTop: 3, insetBottom: 3 }),
        Plot.ruleY(data.filter(one => endsOf(one.found)), { x1: one => endsOf(one.found)[0], x2: one => endsOf(one.found)[1], y: 'name', strokeWidth: 1.5 }),
        Plot.tickX(data.filter(one => endsOf(one.found)), { x: one => endsOf(one.found)[0], y: 'name', insetTop: 7, insetBottom: 7, strokeWidth: 1.5 }),
        Plot.tickX(data.filter(one => endsOf(one.found)), { x: one => endsOf(one.found)[1], y: 'name', insetTop: 7, insetBottom: 7, strokeWidth: 1.5 }),
        Plot.text(data, { x: one => Math.max(one.found.value, endsOf(one.found)?.[1] ?? one.found.value), y: 'name', text: one => number(one.found.value), textAnchor: 'start', dx: 6 }),
      ],
    }, ['System', right('Value'), right('95 % interval')], data.map(one => [words(rows[one.n].name), right(number(one.found.value)),
      right(endsOf(one.found) ? endsOf(one.found).map(end => number(end)).join(' to ') : '–')]), { width: 380 });
  }).filter(Boolean);
  return section('Scores with intervals', 'Bars start at the lower end of the scale. Whiskers are 95 % intervals: of a mean by bootstrap over reports, of a random sample for all its units.', folded(charts, 6, 'scores'));
}

/** Return the mean differences of all pairs of systems. */
function differences() {
  const charts = numbers().differences.flatMap(({ run, rows }) => {
    const scores = [...new Set(rows.map(row => `${row.protocol}: ${row.label}`))];
    return scores.map(score => {
      const own = rows.filter(row => `${row.protocol}: ${row.label}` === score).map(row => ({ ...row.difference, name: `${cut(row.second, 16)} − ${cut(row.first, 16)}` }));
      const data = own.filter(one => one.value !== null);
      const sure = data.filter(one => one.low !== undefined && one.low !== null);
      const ends = data.flatMap(one => [one.value, one.low ?? 0, one.high ?? 0, 0]);
      return figure([score, severalRuns() ? ` · ${numbers().runs[run].name}` : ''].join(''), data.map(one => `${one.name} ${number(one.value)}`).join('; '), {
        height: 44 + 22 * data.length, marginLeft: marginFor(data.map(one => one.name)), marginTop: 6, marginBottom: 24, marginRight: 16,
        x: { label: null, grid: true, ticks: chartWidth() < 480 ? 2 : 3, domain: [Math.min(...ends), Math.max(...ends)], nice: true }, y: { label: null, domain: data.map(one => one.name), tickSize: 0 },
        marks: [
          Plot.ruleX([0], { stroke: 'var(--soft)' }),
          Plot.ruleY(sure, { x1: 'low', x2: 'high', y: 'name', stroke: 'var(--hue-0)', strokeWidth: 2 }),
          Plot.dot(data, { x: 'value', y: 'name', fill: 'var(--hue-0)', r: 4, title: one => `${one.name}: ${number(one.value)}` }),
        ],
      }, ['Systems', right('Difference'), right('95 % interval'), right('Tasks'), right('p (Holm)')], own.map(one => [words(one.name), right(number(one.value)),
        right(one.low !== undefined && one.low !== null ? `${number(one.low)} to ${number(one.high)}` : '–'), right(grouped(one.n_units)), right(one.p_holm !== undefined && one.p_holm !== null ? number(one.p_holm, 3) : '–')]), { width: 420 });
    });
  });
  return charts.length ? section('Differences between systems', 'Mean differences of the same tasks. Where an interval leaves out 0, the choice of tasks alone hardly explains the difference. p is of a permutation test over six or more tasks, corrected for all overall scores and pairs of systems (Holm).', folded(charts, 4, 'scores')) : null;
}

/** Return a profile of the dimensions of each protocol, on a scale from 0 (worst) to 100 (best). */
function profiles() {
  const { columns } = numbers();
  const rows = mainRows().slice(0, 8);
  const charts = [...new Set(columns.map(column => column.protocol))].map(protocol => {
    const roots = columns.filter(column => column.protocol === protocol && column.path.length === 1 && column.vertical && scaleOf(column)?.high !== null && scaleOf(column));
    const below = columns.filter(column => column.protocol === protocol && column.path.length === 2 && scaleOf(column) && scaleOf(column).high !== null);
    const shownColumns = roots.length >= 3 ? roots : roots.length && below.length >= 3 ? below : [];
    if (shownColumns.length < 3 || shownColumns.length > 40) return null;
    const data = shownColumns.flatMap(column => rows.map((row, n) => ({ label: cut(column.label), name: row.name, n, value: row.cells[columns.indexOf(column)]?.value, part: share(row.cells[columns.indexOf(column)]?.value, column) })))
      .filter(one => one.part !== null);
    if (!data.length) return null;
    const labels = [...new Set(shownColumns.map(column => cut(column.label)))];
    return figure(protocol, rows.map(row => `${row.name}: ${data.filter(one => one.name === row.name).map(one => `${one.label} ${number(one.value)}`).join(', ')}`).join('; '), {
      height: 40 + 24 * labels.length, marginLeft: marginFor(labels), marginTop: 6, marginBottom: 40, marginRight: 16,
      x: { domain: [0, 100], label: '0 worst, 100 best', grid: true, ticks: 5, labelOffset: 34 }, y: { label: null, domain: labels, tickSize: 0 },
      symbol: { domain: rows.map((_, n) => n), range: SYMBOLS.slice(0, rows.length) },
      marks: [
        Plot.ruleY(labels, { stroke: 'var(--line)' }),
        Plot.line(data, { x: one => 100 * one.part, y: 'label', z: 'n', stroke: one => hue(one.n), strokeOpacity: 0.45 }),
        Plot.dot(data, { x: one => 100 * one.part, y: 'label', symbol: 'n', fill: one => hue(one.n), r: 4, title: one => `${plain(one.name)}: ${one.label} ${number(one.value)}` }),
      ],
    }, ['Dimension', ...rows.map(row => right(words(row.name)))], shownColumns.map(column => [column.label, ...rows.map(row => right(number(row.cells[columns.indexOf(column)]?.value)))]),
    { width: 560, legend: legend(rows.map(row => row.name)) });
  }).filter(Boolean);
  return charts.length ? section('Dimension profiles', null, folded(charts, 4, 'protocols', '.wide')) : null;
}

/** Return heat maps of the headline scores by an attribute of the tasks and the system. */
function byAttribute() {
  const { groups } = numbers();
  if (!groups.length) return null;
  return section('Scores by group of tasks', 'Means over the reports of each group, or the protocol’s own rule over them.', groups.map(({ by, found }) => {
    const systems = [...new Set(found.groups.map(group => group.key.system))];
    const parts = [...new Set(found.groups.map(group => group.key[by]))];
    const shades = found.columns.map((column, place) => ({ column, place })).filter(({ column }) => column.scale);
    const board = ({ column, place }) => table(`${column.protocol}: ${column.label} by ${by}`, [by, ...systems.map(name => right(words(name ?? 'no system named')))],
      parts.map(part => [words(part ?? '–'), ...systems.map(system => {
        const group = found.groups.find(one => one.key[by] === part && one.key.system === system);
        const value = group?.cells[place]?.value;
        if (value === null || value === undefined) return right(el('span.nothing', {}, '–'));
        const link = el('a.heat-value', { href: address(basis(column), { row: numbers().rows.findIndex(row => !row.judge && (row.system ?? null) === system), [by]: part, score: nameOfScore(column) }) },
          number(value), group.cells[place].by_rule ? BY_RULE : '', el('span.n', {}, ` n = ${group.n_reports}`));
        const tone = share(value, column);
        if (tone !== null) { link.classList.add('toned'); link.style.setProperty('--shade', `${Math.round(100 * tone)}%`); }
        return right(link);
      })]), { class: 'heat' });
    return el('div', {}, el('h3', {}, `By ${by}`), folded(shades.map(board), 2, 'scores'));
  }));
}

/** Return the distribution of labels by system. */
function labelShares() {
  const { labels } = numbers();
  const kinds = labels.filter(kind => kind.groups.length && kind.groups.some(group => Object.keys(group.counts).length > 1));
  if (!kinds.length) return null;
  const charts = kinds.map(kind => {
    const names = kind.groups.map(group => cut([group.key.system, severalRuns() ? group.key.run : null].filter(Boolean).join(' · ') || group.key.run || 'all reports'));
    const counted = Object.keys(kind.groups[0].counts);
    const ordered = kind.kind === 'verdict' ? index.outcomes.filter(label => counted.includes(label)) : counted;
    const data = kind.groups.flatMap((group, n) => ordered.map((label, place) => ({ name: names[n], label, place, n: group.counts[label], total: Object.values(group.counts).reduce((sum, one) => sum + one, 0) })))
      .filter(one => one.n);
    const colour = one => kind.kind === 'verdict' ? `var(--${outcomeTone(one.label)})` : hue(one.place);
    return figure(kind.kind, kind.groups.map((group, n) => `${names[n]}: ${ordered.map(label => `${group.counts[label]} ${outcomeWords(label)}`).join(', ')}`).join('; '), {
      height: 34 + 26 * names.length, marginLeft: marginFor(names), marginTop: 4, marginBottom: 24, marginRight: 12,
      x: { label: null, percent: true, ticks: 4, tickFormat: value => `${value} %` }, y: { label: null, domain: names, tickSize: 0 },
      marks: [
        Plot.barX(data, { x: one => one.n / one.total, y: 'name', fill: colour, fillOpacity: 0.8, insetRight: 1, insetTop: 3, insetBottom: 3, title: one => `${one.name}: ${one.n} ${outcomeWords(one.label)}` }),
        Plot.text(data.filter(one => one.n / one.total > 0.14), Plot.stackX({ x: one => one.n / one.total, y: 'name', text: one => cut(outcomeWords(one.label), 14), fill: 'var(--card)', fontWeight: 600 })),
      ],
    }, ['System', ...ordered.map(label => right(outcomeWords(label))), right('no answer')], kind.groups.map((group, n) => [words(names[n]), ...ordered.map(label => right(grouped(group.counts[label]))), right(grouped(group.n_without))]), { width: 480 });
  });
  return section('Labels', 'Shares of the decisions with a label.', folded(charts, 4, 'kinds of labels'));
}

/** Return the scores that sum up reports against their length. */
function length() {
  const { reports, columns } = numbers();
  const heads = columns.filter(column => column.headline);
  const systems = [...new Set(reports.map(nameOf))];
  if (reports.length < 4) return null;
  const charts = heads.map((column, n) => {
    const data = reports.filter(report => report.values[n] !== null && report.n_words).map(report => ({ words: report.n_words, value: report.values[n], place: systems.indexOf(nameOf(report)), name: report.id }));
    if (data.length < 4) return null;
    const scale = scaleOf(column);
    return figure(`${column.protocol}: ${column.label}`, `${data.length} reports from ${grouped(Math.min(...data.map(one => one.words)))} to ${grouped(Math.max(...data.map(one => one.words)))} words.`, {
      height: 220, marginLeft: 44, marginBottom: 40, marginTop: 16, marginRight: 16,
      x: { label: 'words', grid: true, ticks: 4, labelOffset: 34 }, y: { label: null, grid: true, ticks: 4, domain: scale && scale.high !== null ? [scale.low, scale.high] : undefined, zero: true },
      symbol: { domain: systems.map((_, place) => place), range: systems.map((_, place) => SYMBOLS[place % 8]) },
      marks: [Plot.dot(data, { x: 'words', y: 'value', symbol: 'place', fill: one => hue(one.place), fillOpacity: data.length > 200 ? 0.4 : 0.75, r: data.length > 200 ? 2 : 4, title: one => `${plain(one.name)}: ${number(one.value)}, ${grouped(one.words)} words` })],
    }, ['Report', right('Words'), right('Value')], data.slice(0, 200).map(one => [words(one.name), right(grouped(one.words)), right(number(one.value))]), { width: 380 });
  }).filter(Boolean);
  return charts.length ? section('Score against length', 'A judge that prefers long reports shows here.', legend(systems), folded(charts, 2, 'scores')) : null;
}

/** Return the agreement of several judges by metric. */
function agreement() {
  const found = numbers().agreement;
  if (!found.length) return null;
  return section('Agreement of the judges', 'Krippendorff’s alpha: 1 is agreement, 0 is chance. Lines are 95 % bootstrap intervals over reports.', found.map(({ run, rows }) => {
    const most = Math.max(...rows.map(row => row.judges.length));
    const whole = rows.filter(row => row.judges.length === most).map(row => ({ ...row, name: cut(`${row.protocol}: ${row.metric}`, 40) }));
    const data = whole.filter(row => row.alpha.value !== null);
    const figureOf = one => one && one.value !== null ? [number(one.value), one.low !== null && one.low !== undefined ? ` (${number(one.low)} to ${number(one.high)})` : ''] : '–';
    const rowsOf = whole.map(row => [words(row.name), right(grouped(row.n_items)), right(figureOf(row.alike)), right(figureOf(row.kappa)), right(figureOf(row.alpha))]);
    const head = ['Metric', right('Items'), right('All alike'), right('Kappa'), right('Alpha')];
    if (!data.length) return table(`Agreement in ${numbers().runs[run].name}`, head, rowsOf);
    return figure(whole[0].judges.join(', '), data.map(row => `${row.name} ${number(row.alpha.value)}`).join('; '), {
      height: 40 + 22 * data.length, marginLeft: marginFor(data.map(row => row.name)), marginBottom: 30,
      x: { domain: [Math.min(0, ...data.map(row => row.alpha.low ?? row.alpha.value)), 1], label: 'alpha', grid: true }, y: { label: null, domain: data.map(row => row.name), tickSize: 0 },
      marks: [
        Plot.ruleX([0], { stroke: 'var(--soft)' }),
        Plot.ruleY(data.filter(row => row.alpha.low !== null && row.alpha.low !== undefined), { x1: row => row.alpha.low, x2: row => row.alpha.high, y: 'name', stroke: 'var(--hue-0)' }),
        Plot.dot(data, { x: row => row.alpha.value, y: 'name', fill: 'var(--hue-0)', r: 4, title: row => `${row.name}: ${number(row.alpha.value)}` }),
      ],
    }, head, rowsOf);
  }));
}

/** Return a rate as text: its value, interval and number of claims. */
const rateWords = one => one.value === null ? '–' : `${number(one.value)} (${number(one.low)} to ${number(one.high)}), ${grouped(one.n)} of ${grouped(one.of)}`;

/** Return the probabilities of each judge beside what people say of the same claims. */
function reliability() {
  const found = index.reliability;
  if (!found.length) return null;
  const labelled = found.some(one => one.n_labelled);
  return section('Reliability of verdicts', labelled
    ? 'What people say of claims, beside the judge’s verdicts on the same claims and pages. Lines are Wilson intervals of 95 %, which take claims as independent.'
    : 'Probabilities that the pages support the claims. How reliable they are is not known: no labels by people were given (report --labels).',
  found.map(one => {
    const name = [severalRuns() ? numbers().runs[one.run].name : null, one.judge].filter(Boolean).join(' · ');
    return el('div', {}, name ? el('h3', {}, words(name)) : null,
      el('div.charts', {}, reliabilityDiagram(one), probabilities(one), byVerdict(one)), reliabilityNotes(one));
  }));
}

/** Return the share that people call supported, by the judge's probability. */
function reliabilityDiagram({ bins = [] }) {
  const data = bins.filter(bin => bin.true.of);
  if (!data.length) return null;
  const range = bin => `${number(bin.low, 1)} to ${number(bin.high, 1)}`;
  return figure('Called supported by people, by P(supported)', data.map(bin => `${range(bin)}: ${rateWords(bin.true)}`).join('; '), {
    width: chartWidth(380), height: 300, marginLeft: 44, marginBottom: 40, marginTop: 26, marginRight: 16,
    x: { domain: [0, 1], label: 'P(supported), mean of the claims', labelOffset: 34, ticks: 5, grid: true }, y: { domain: [0, 1], label: null, ticks: 5, grid: true },
    r: { range: [3, 9] },
    marks: [
      Plot.line([[0, 0], [1, 1]], { stroke: 'var(--soft)', strokeDasharray: '4 4' }),
      Plot.ruleX(data, { x: 'mean', y1: bin => bin.true.low, y2: bin => bin.true.high, stroke: 'var(--hue-0)', strokeWidth: 1.5 }),
      Plot.dot(data, { x: 'mean', y: bin => bin.true.value, r: bin => bin.true.of, fill: 'var(--hue-0)', title: bin => `${range(bin)}: ${rateWords(bin.true)}` }),
      Plot.text(data, { x: 'mean', y: bin => bin.true.high, text: bin => grouped(bin.true.of), dy: -16 }),
    ],
  }, ['P(supported)', right('Mean'), right('Called supported'), right('95 % interval'), right('Claims')], data.map(bin => [range(bin), right(number(bin.mean)), right(number(bin.true.value)),
    right(`${number(bin.true.low)} to ${number(bin.true.high)}`), right(grouped(bin.true.of))]), { width: 380 });
}

/** Return the share that people call supported, by the judge's verdict. */
function byVerdict({ verdicts }) {
  const data = verdicts.filter(one => one.people.of).map(one => ({ ...one, name: outcomeWords(one.label) }));
  if (!data.length) return null;
  return figure('Called supported by people, by verdict', data.map(one => `${one.name}: ${rateWords(one.people)}`).join('; '), {
    height: 40 + 28 * data.length, marginLeft: marginFor(data.map(one => one.name)), marginTop: 6, marginBottom: 24, marginRight: 46,
    x: { domain: [0, 1], label: null, ticks: 5, grid: true }, y: { label: null, domain: data.map(one => one.name), tickSize: 0 },
    marks: [
      Plot.ruleY(data, { x1: one => one.people.low, x2: one => one.people.high, y: 'name', stroke: 'var(--hue-0)', strokeWidth: 1.5 }),
      Plot.dot(data, { x: one => one.people.value, y: 'name', fill: 'var(--hue-0)', r: 4, title: one => `${one.name}: ${rateWords(one.people)}` }),
      Plot.text(data, { x: one => one.people.high, y: 'name', text: one => `n = ${grouped(one.people.of)}`, textAnchor: 'start', dx: 6 }),
    ],
  }, ['Verdict', right('Called supported'), right('95 % interval'), right('Labelled'), right('Verdicts')], data.map(one => [one.name, right(number(one.people.value)),
    right(`${number(one.people.low)} to ${number(one.people.high)}`), right(grouped(one.people.of)), right(grouped(one.n))]), { width: 380 });
}

/** Return how many verdicts have which probability. */
function probabilities({ counts }) {
  if (!counts.length) return null;
  const data = counts.map((n, place) => ({ n, low: place / counts.length, high: (place + 1) / counts.length }));
  const range = one => `${number(one.low, 1)} to ${number(one.high, 1)}`;
  return figure('Verdicts by P(supported)', data.filter(one => one.n).map(one => `${range(one)}: ${grouped(one.n)}`).join('; '), {
    height: 200, marginLeft: 44, marginBottom: 40, marginTop: 12, marginRight: 16,
    x: { domain: [0, 1], label: 'P(supported)', labelOffset: 34, ticks: 5 }, y: { label: null, ticks: 4, grid: true },
    marks: [Plot.rectY(data, { x1: 'low', x2: 'high', y: 'n', fill: 'var(--hue-0)', fillOpacity: 0.75, insetLeft: 1, insetRight: 1, title: one => `${range(one)}: ${grouped(one.n)}` }), Plot.ruleY([0])],
  }, ['P(supported)', right('Verdicts')], data.map(one => [range(one), right(grouped(one.n))]), { width: 380 });
}

/** Return what the charts rest on and leave out. */
function reliabilityNotes(one) {
  const estimate = (name, found) => found && found.value !== null
    ? `${name} ${number(found.value)}${found.low !== undefined && found.low !== null ? ` (${number(found.low)} to ${number(found.high)})` : ''}` : null;
  const figures = [estimate('expected calibration error', one.ece), estimate('Brier score', one.brier), estimate('AUC', one.auc)].filter(Boolean);
  const left = [[one.n_unmatched, 'of claims without a verdict here'], [one.n_unclear, 'unclear']].filter(([n]) => n).map(([n, why]) => `${grouped(n)} ${why}`);
  return [
    one.n_labelled ? el('p.fine-print', {}, `${count(one.n_labelled, 'labelled claim')}`, figures.length ? `: ${figures.join(', ')}; 95 % bootstrap intervals over reports` : '', '. ',
      one.agreement?.n ? `${estimate('Krippendorff’s alpha of the annotators:', one.agreement) ?? ''}. ` : '',
      one.n_divided ? `${count(one.n_divided, 'claim')} left out, because as many people call it supported as not. ` : '') : null,
    one.n_labels && left.length ? el('p.fine-print', {}, `Of ${count(one.n_labels, 'label')}: ${left.join(', ')}.`) : null,
    one.counts.length ? el('p.fine-print', {}, one.calibrations.length
      ? ['P(supported) is calibrated: ', one.calibrations.map((own, n) => [n ? '; ' : '', `${own.method} on ${count(own.n, 'labelled claim')} (${own.language === 'all' ? 'all languages' : own.language})`,
        own.ece !== null ? `, on which it has an expected calibration error of ${number(own.ece)} and an AUC of ${number(own.auc)}, out of fold` : '']), '.']
      : 'P(supported) is the judge’s own probability: it is not calibrated.') : null,
  ];
}
