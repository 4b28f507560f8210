// Lists over reports, the worst first: claims with their pages, answers to the protocols' questions, and reports.

const STEP = 50;

const KINDS = {
  claims: {
    title: 'Claims',
    lead: 'Each claim with each page that it cites, the worst first.',
    empty: 'No claim fits these filters.',
    rank: one => index.outcomes.indexOf(one.outcome) + (one.confidence ?? 0) / 2,
    label: one => one.outcome,
    labels: found => index.outcomes.filter(outcome => found.has(outcome)),
    chip: label => chip(label),
    words: one => `${one.text} ${one.url ?? ''}`,
    line: one => [chip(one.outcome), one.url ? el('bdi', {}, host(one.url)) : null,
      one.confidence !== undefined && one.confidence !== null ? el('span', {}, `P = ${number(one.confidence)}`) : null],
    place: one => ({ v: one.verdict }),
  },
  items: {
    title: 'Items',
    lead: 'Each answer to a question of a protocol, the worst first.',
    empty: 'No item fits these filters.',
    rank: one => severity(one),
    label: one => toneOf(one),
    labels: found => Object.keys(TONES).filter(tone => found.has(tone)),
    chip: tone => el(`span.chip.${tone}`, {}, TONES[tone]),
    words: one => `${one.text} ${one.protocol} ${one.value ?? ''}`,
    line: one => [valueChip(one), el('span', {}, one.protocol), (one.path ?? []).length ? el('span', {}, pathWords(one)) : null],
    place: one => ({ i: one.item }),
  },
};

const TONES = { bad: 'bad', part: 'middling', poor: 'weak', open: 'open', good: 'good', calm: 'neutral' };
const LABEL_TONES = {
  unmet: 'bad', contradicted: 'bad', unsupported: 'bad', not_supported: 'bad', not_found: 'bad', off_topic: 'bad', Wrong: 'bad', counted: 'bad', no: 'bad',
  partial: 'part', partially: 'part', neutral: 'part', dead: 'poor',
  blocked: 'open', unavailable: 'open', empty: 'open', unusable: 'open',
  unverifiable: 'open', unknown: 'open', Unknown: 'open', unsupported_type: 'open', not_in_snapshot: 'open', unproven: 'open', tied: 'open',
  met: 'good', supported: 'good', Right: 'good', yes: 'good',
};

function toneOf(item) {
  if (item.value === null) return 'open';
  if (typeof item.value === 'string') return LABEL_TONES[item.value] ?? LABEL_TONES[item.value.split(':')[0]] ?? 'calm';
  if (item.share === undefined || item.share === null) return 'calm';
  return item.share < 0.4 ? 'bad' : item.share < 0.7 ? 'part' : 'good';
}

const severity = item => typeof item.value === 'number' ? item.share ?? 0.5
  : { bad: 0, poor: 0.3, part: 0.45, open: 0.6, good: 1, calm: 1.1 }[toneOf(item)];

/** Return the value of an item as a label. */
const valueChip = item => el(`span.chip.${toneOf(item)}`, {}, item.value === null ? 'no answer'
  : typeof item.value === 'number' ? number(item.value, Number.isInteger(item.value) ? 0 : 2) : item.value.replaceAll('_', ' '));

/** Return the labels of the scores on the way to an item's score. */
function pathWords(item) {
  const { columns } = numbers();
  const found = [];
  for (let n = 1; n <= (item.path ?? []).length; n += 1) {
    const column = columns.find(one => one.protocol === item.protocol && one.path.length === n && one.path.every((step, place) => step === item.path[place]));
    if (column && column.label !== found.at(-1)) found.push(column.label);
  }
  return found.join(' › ');
}

const startsWith = (path, prefix) => prefix.every((step, place) => path[place] === step);
const related = (path, other) => path.length === 0 || startsWith(path, other) || startsWith(other, path);
const nameOfScore = column => `${column.protocol}:${column.path.join('/')}`;

/** Return what a score rests on: `items` if questions cover most of its parts, else `claims`. */
function basis(column) {
  const { columns } = numbers();
  const paths = (index.items[column.protocol] ?? []).filter(path => path.length);
  if (!index.lists.some(list => list.kind === 'claims' && list.n)) return 'items';
  const place = columns.indexOf(column);
  const children = columns.filter(one => one.parent === place);
  const covered = one => paths.some(path => related(path, one.path));
  const parts = children.length ? children : [column];
  return parts.filter(covered).length * 2 > parts.length ? 'items' : 'claims';
}

async function listView(kind, parameters) {
  const { rows, columns, reports } = numbers();
  const of = KINDS[kind];
  const row = parameters.row === undefined ? null : rows[Number(parameters.row)] ?? null;
  const column = columns.find(one => nameOfScore(one) === parameters.score) ?? null;
  const lists = index.lists.filter(list => list.kind === kind && (!row || list.run === row.run
    && (list.system ?? null) === (row.system ?? null) && (!row.judge || list.judge === row.judge)));
  const all = (await Promise.all(lists.map(list => chunk(list.chunk)))).flat();
  const needle = (parameters.q ?? '').toLocaleLowerCase();
  const protocol = kind === 'items' ? parameters.protocol : null;
  const fitting = all.filter(one => {
    const report = reports[index.entries[one.entry].report];
    return ATTRIBUTES.every(name => !parameters[name] || attribute(report, name) === parameters[name])
      && (!protocol || one.protocol === protocol)
      && (kind === 'claims' || !column || (one.protocol === column.protocol && related(one.path ?? [], column.path)))
      && (!needle || `${of.words(one)} ${report.id}`.toLocaleLowerCase().includes(needle));
  }).map(one => [of.rank(one), one]);
  fitting.sort(([rank, one], [other, another]) => rank - other || one.entry - another.entry);
  const counts = new Map();
  for (const [, one] of fitting) counts.set(of.label(one), (counts.get(of.label(one)) ?? 0) + 1);
  const kept = fitting.map(([, one]) => one).filter(one => !parameters.label || of.label(one) === parameters.label);
  const to = change => address(kind, { ...parameters, ...change });
  const go = change => { location.hash = to(change); };
  announce(count(kept.length, kind.slice(0, -1)));
  return [
    el('h1', {}, row ? [`${of.title} of `, words(row.name)] : of.title),
    column ? behind(kind, row, column, parameters) : el('p.subtitle', {}, of.lead),
    el('div.filters', {},
      choice('System', [['', 'all'], ...rows.map((one, place) => [String(place), one.name])], parameters.row ?? '', place => go({ row: place })),
      kind === 'items' ? choice('Protocol', [['', 'all'], ...Object.keys(index.items).map(name => [name, name])], protocol ?? column?.protocol ?? '', name => go({ protocol: name, score: null })) : null,
      attributeFilters(parameters, go),
      search(parameters.q ?? '', q => go({ q }))),
    el('nav.labels', { 'aria-label': 'Labels' },
      el('a', { href: to({ label: null }), 'aria-current': parameters.label ? null : 'true' }, 'all ', el('span.n', {}, grouped(fitting.length))),
      of.labels(counts).map(label => el('a', { href: to({ label }), 'aria-current': parameters.label === label ? 'true' : null },
        of.chip(label), ' ', el('span.n', {}, grouped(counts.get(label)))))),
    kept.length ? more(kept, one => listLine(of, one), 'ol.lines') : el('p.empty', {}, of.empty),
  ];
}

/** Return the score that a list explains, with a link to the other kind of list. */
function behind(kind, row, column, parameters) {
  const found = row?.cells[numbers().columns.indexOf(column)];
  const other = kind === 'claims' ? 'items' : 'claims';
  const has = index.lists.some(list => list.kind === other && list.n) && (other === 'claims' || (index.items[column.protocol] ?? []).some(path => related(path, column.path)));
  return el('p.subtitle', {}, column.protocol, ': ', column.label, found ? [' ', el('b', {}, number(found.value))] : '', '. ',
    kind === 'claims' ? 'The claims that it rests on, the worst first.' : 'The answers that it rests on, the worst first.',
    has ? [' ', el('a', { href: address(other, { ...parameters, label: null }) }, `See ${other}`)] : '',
    ' ', el('a', { href: address(kind, { ...parameters, score: null }) }, 'Show all'));
}

const ATTRIBUTES = ['topic', 'language', 'category', 'domain', 'task'];

const attributeFilters = (parameters, go) => ATTRIBUTES.map(name => values(name).length > 1
  ? choice(name[0].toUpperCase() + name.slice(1), [['', 'all'], ...values(name).map(value => [value, value])], parameters[name] ?? '', value => go({ [name]: value })) : null);

function search(value, changed) {
  const field = el('input', { type: 'search', id: 'search', value, placeholder: 'Words, addresses, reports', autocomplete: 'off' });
  return el('form.choice.search', { role: 'search', on: { submit: event => { event.preventDefault(); changed(field.value); } } },
    el('label', { for: 'search' }, 'Search'), field);
}

/** Return a list that grows on demand. */
function more(rows, line, tag) {
  const list = el(tag);
  const button = el('button.more', { type: 'button', on: { click: () => grow(true) } });
  let n = 0;
  const grow = focus => {
    const added = rows.slice(n, n + STEP).map(line);
    list.append(...added);
    n += added.length;
    button.textContent = `Show more (${grouped(rows.length - n)} left)`;
    button.hidden = n >= rows.length;
    if (focus) added[0]?.querySelector('a')?.focus();
  };
  grow(false);
  return [list, button];
}

function listLine(of, one) {
  const entry = index.entries[one.entry];
  const report = numbers().reports[entry.report];
  const [label, ...where] = of.line(one);
  return el('li', {}, el('a.line', { href: address(`report/${one.entry}`, of.place(one)) },
    label, el('span.what', {}, words(one.text)),
    el('span.where', {}, report.system ? words(report.system) : null, words(report.id), entry.judge ? words(entry.judge) : null, where)));
}

function reportsView(parameters) {
  const { reports, columns } = numbers();
  const heads = columns.filter(column => column.headline);
  const needle = (parameters.q ?? '').toLocaleLowerCase();
  const go = change => { location.hash = address('reports', { ...parameters, ...change }); };
  const systems = [...new Set(reports.map(nameOf))];
  const sorts = heads.map((column, n) => [String(n), `${column.protocol}: ${column.label}, lowest first`]);
  const kept = reports.map((report, place) => [report, place]).filter(([report]) =>
    (!parameters.system || nameOf(report) === parameters.system)
    && ATTRIBUTES.every(name => !parameters[name] || attribute(report, name) === parameters[name])
    && (!needle || `${report.id} ${report.task ?? ''}`.toLocaleLowerCase().includes(needle)));
  if (parameters.sort) kept.sort(([one], [other]) => (one.values[Number(parameters.sort)] ?? Infinity) - (other.values[Number(parameters.sort)] ?? Infinity));
  announce(count(kept.length, 'report'));
  return [
    el('h1', {}, 'Reports'),
    el('p.subtitle', {}, count(kept.length, 'report'), ' with the scores that sum them up.'),
    el('div.filters', {},
      choice('System', [['', 'all'], ...systems.map(name => [name, name])], parameters.system ?? '', system => go({ system })),
      attributeFilters(parameters, go),
      choice('Order', [['', 'as in the run'], ...sorts], parameters.sort ?? '', sort => go({ sort })),
      search(parameters.q ?? '', q => go({ q }))),
    more(kept, ([report, place]) => reportLine(report, place, heads), 'ol.lines'),
  ];
}

function reportLine(report, place, heads) {
  const entries = index.entries.map((entry, n) => [entry, n]).filter(([entry]) => entry.report === place);
  const scores = heads.map((column, n) => report.values[n] === null ? null : el('span', {}, column.label, ' ', el('b', {}, number(report.values[n])))).filter(Boolean);
  const body = () => [
    el('span.what', {}, words(report.id)),
    el('span.where', {}, report.system ? words(report.system) : null, severalRuns() ? words(numbers().runs[report.run].name) : null,
      el('span', {}, count(report.n_words, 'word')), report.status === 'done' ? null : el('span.problem', {}, `${report.status}: ${report.detail}`)),
    el('span.where', {}, scores),
  ];
  if (!entries.length) return el('li', {}, el('div.line', {}, body()));
  return el('li', {}, entries.map(([entry, n]) => el('a.line', { href: address(`report/${n}`) },
    entry.judge ? el('span.protocol', {}, entry.judge) : null, body(), outcomeBar(entry.outcomes ?? {}))));
}
