// Lists over reports: claims and pages, the worst first; and the reports themselves.

const STEP = 50;

async function claimsView(parameters) {
  const { rows, columns, reports } = numbers();
  const row = parameters.row === undefined ? null : rows[Number(parameters.row)];
  const lists = index.lists.filter(list => !row || (list.run === row.run && (list.system ?? null) === (row.system ?? null) && (!row.judge || list.judge === row.judge)));
  const loaded = await Promise.all(lists.map(list => chunk(list.chunk)));
  const rank = Object.fromEntries(index.outcomes.map((outcome, place) => [outcome, place]));
  const all = loaded.flat();
  if (loaded.length > 1) all.sort((one, other) => rank[one.outcome] - rank[other.outcome] || (one.confidence ?? 0) - (other.confidence ?? 0) || one.report - other.report || one.verdict - other.verdict);
  const needle = (parameters.q ?? '').toLocaleLowerCase();
  const fits = one => {
    const report = reports[index.entries[one.report].report];
    return (!parameters.topic || attribute(report, 'topic') === parameters.topic)
      && (!parameters.language || attribute(report, 'language') === parameters.language)
      && (!needle || `${one.text} ${one.url ?? ''} ${report.id}`.toLocaleLowerCase().includes(needle));
  };
  const fitting = all.filter(fits);
  const counts = {};
  for (const one of fitting) counts[one.outcome] = (counts[one.outcome] ?? 0) + 1;
  const kept = parameters.outcome ? fitting.filter(one => one.outcome === parameters.outcome) : fitting;
  const to = change => address('claims', { ...parameters, ...change });
  const go = change => { location.hash = to(change); };
  const column = parameters.score && columns.find(one => `${one.protocol}:${one.path.join('/')}` === parameters.score);

  const filters = el('div.filters', {},
    choice('System', [['', 'all'], ...rows.map((one, place) => [String(place), one.name])], parameters.row ?? '', row => go({ row, score: null })),
    ['topic', 'language'].map(name => values(name).length > 1
      ? choice(name[0].toUpperCase() + name.slice(1), [['', 'all'], ...values(name).map(value => [value, value])], parameters[name] ?? '', value => go({ [name]: value })) : null),
    search(parameters.q ?? '', q => go({ q })));
  const labels = el('nav.labels', { 'aria-label': 'Outcomes' },
    el('a', { href: to({ outcome: null }), 'aria-current': parameters.outcome ? null : 'true' }, 'all ', el('span.n', {}, grouped(fitting.length))),
    index.outcomes.filter(outcome => counts[outcome]).map(outcome =>
      el('a', { href: to({ outcome }), 'aria-current': parameters.outcome === outcome ? 'true' : null }, chip(outcome), ' ', el('span.n', {}, grouped(counts[outcome])))));
  announce(count(kept.length, 'claim'));
  return [
    el('h1', {}, row ? ['Claims of ', words(row.name)] : 'Claims'),
    column && row ? el('p.subtitle', {}, `${column.protocol}: ${column.label} ${number(row.cells[columns.indexOf(column)]?.value)}. `, 'The claims behind it, the worst first.') : el('p.subtitle', {}, 'Each claim with each page that it cites, the worst first.'),
    filters, labels,
    kept.length ? more(kept, claimLine, 'ol.lines') : el('p.empty', {}, 'No claim fits these filters.'),
  ];
}

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

function claimLine(one) {
  const entry = index.entries[one.report];
  const report = numbers().reports[entry.report];
  return el('li', {}, el('a.line', { href: address(`report/${one.report}`, { v: one.verdict }) },
    chip(one.outcome),
    el('span.what', {}, words(one.text)),
    el('span.where', {},
      report.system ? words(report.system) : null, words(report.id),
      one.url ? el('bdi', {}, host(one.url)) : null,
      one.confidence !== undefined && one.confidence !== null ? el('span', {}, `P = ${number(one.confidence)}`) : null)));
}

function reportsView(parameters) {
  const { reports, columns } = numbers();
  const heads = columns.filter(column => column.headline);
  const needle = (parameters.q ?? '').toLocaleLowerCase();
  const go = change => { location.hash = address('reports', { ...parameters, ...change }); };
  const systems = [...new Set(reports.map(nameOf))];
  const kept = reports.map((report, place) => [report, place]).filter(([report]) =>
    (!parameters.system || nameOf(report) === parameters.system)
    && ['topic', 'language'].every(name => !parameters[name] || attribute(report, name) === parameters[name])
    && (!needle || `${report.id} ${report.task ?? ''}`.toLocaleLowerCase().includes(needle)));
  announce(count(kept.length, 'report'));
  return [
    el('h1', {}, 'Reports'),
    el('p.subtitle', {}, count(reports.length, 'report'), ' with the scores that sum them up.'),
    el('div.filters', {},
      choice('System', [['', 'all'], ...systems.map(name => [name, name])], parameters.system ?? '', system => go({ system })),
      ['topic', 'language'].map(name => values(name).length > 1
        ? choice(name[0].toUpperCase() + name.slice(1), [['', 'all'], ...values(name).map(value => [value, value])], parameters[name] ?? '', value => go({ [name]: value })) : null),
      search(parameters.q ?? '', q => go({ q }))),
    more(kept, ([report, place]) => reportLine(report, place, heads), 'ol.lines'),
  ];
}

function reportLine(report, place, heads) {
  const entries = index.entries.map((entry, n) => [entry, n]).filter(([entry]) => entry.report === place);
  const scores = heads.map((column, n) => report.values[n] === null ? null : `${column.label} ${number(report.values[n])}`).filter(Boolean);
  const body = [
    el('span.what', {}, words(report.id)),
    el('span.where', {}, report.system ? words(report.system) : null, severalRuns() ? words(numbers().runs[report.run].name) : null,
      el('span', {}, count(report.n_words, 'word')), report.status === 'done' ? null : el('span.problem', {}, `${report.status}: ${report.detail}`)),
    el('span.scores', {}, scores.join(' · ')),
  ];
  if (!entries.length) return el('li', {}, el('div.line', {}, body));
  return el('li', {}, entries.map(([entry, n]) => el('a.line', { href: address(`report/${n}`) },
    entry.judge ? el('span.protocol', {}, entry.judge) : null, body, outcomeBar(entry.outcomes ?? {}))));
}
