// First view: what was compared, how far it can be trusted, leaderboard, dimensions, charts.

const BY_RULE = '*';

function overviewView() {
  const { runs, rows } = numbers();
  return [
    el('h1', {}, title()),
    el('p.subtitle', {}, summary()),
    trust(),
    leaderboard(),
    byJudge(),
    ...dimensions(),
    ...chartSections(),
  ];
}

/** Return the heading: the systems that were compared. */
function title() {
  const systems = [...new Set(mainRows().map(row => row.system).filter(Boolean))];
  if (!systems.length) return numbers().runs.map(run => run.name).join(' and ');
  if (systems.length > 4) return `${systems.length} systems compared`;
  return systems.join(systems.length === 2 ? ' and ' : ', ');
}

function summary() {
  const { runs, reports, profile } = numbers();
  const tasks = new Set(reports.map(report => report.task).filter(Boolean));
  const judges = [...new Set(runs.flatMap(run => run.judges))];
  const protocols = [...new Set(runs.flatMap(run => run.protocols))];
  return [
    count(reports.length, 'report'), tasks.size ? ` on ${count(tasks.size, 'task')}` : '',
    runs.length > 1 ? ` in ${count(runs.length, 'run')}` : '',
    judges.length ? [', judged by ', judges.map((name, n) => [n ? ', ' : '', el('b', {}, name)])] : '',
    ' with ', protocols.join(', '), ` (${profile} formulas).`,
  ];
}

function trust() {
  const { runs, rows, warnings } = numbers();
  const sum = key => mainRows().reduce((total, row) => total + row[key], 0);
  const evaluated = sum('n_evaluated'), reports = runs.reduce((total, run) => total + run.n_reports, 0);
  const read = sum('n_sources_read'), sources = sum('n_sources'), failed = sum('n_calls_failed'), part = sum('n_in_part');
  const tile = (label, value, share, tone, note) => {
    const bar = el('span.meter', { 'aria-hidden': 'true' });
    bar.style.setProperty('--filled', `${100 * (share ?? 1)}%`);
    return el(`div.tile.${tone}`, {}, el('dt', {}, label), el('dd', {}, el('b', {}, value), el('span', {}, note)), share === null ? null : bar);
  };
  const tone = part => part >= 0.95 ? 'fine' : part >= 0.5 ? 'part' : 'bad';
  return el('section', { 'aria-label': 'How far the numbers can be trusted' },
    el('dl.tiles', {},
      tile('Reports evaluated', grouped(evaluated), reports ? evaluated / reports : 1, tone(evaluated / (reports || 1)), `of ${grouped(reports)}`),
      sources ? tile('Sources read', grouped(read), read / sources, tone(read / sources), `of ${grouped(sources)} cited`) : null,
      part ? tile('Reports read in part', grouped(part), part / reports, 'bad', 'some of their citations were not read') : null,
      tile('Answers missing', grouped(failed), null, failed ? 'part' : 'fine', failed ? 'they widen the bounds of scores' : 'every question was answered'),
      tile('Snapshot', runs[0].snapshot ? runs[0].snapshot.slice(0, 8) : 'none', null, 'fine', runs[0].snapshot ? 'digest of the frozen pages' : 'no claims were verified')),
    warnings.length ? el('ul.warnings', {}, warnings.map(one => el(`li.${one.level}`, {}, words(one.text, 'span')))) : null);
}

/** Return the address of what a number rests on. */
const itemsOf = (row, column) => address(basis(column), { row: numbers().rows.indexOf(row), score: nameOfScore(column) });

/** Return a score with its interval, bounds and coverage, as a link to what it rests on. */
function scoreCell(row, column, place, best) {
  const found = row.cells[place];
  if (!found || (found.value === null && !found.note && found.low === null)) return el('span.nothing', {}, '–');
  const open = found.low !== undefined && found.low !== null && found.high !== null && number(found.low) !== number(found.high);
  const label = `${row.name}, ${column.label}: ${number(found.value)}`;
  return el(`a.score${best ? '.best' : ''}`, { href: itemsOf(row, column), 'aria-label': label, title: plain(found.note ?? '') || null },
    el('span.value', {}, number(found.value), found.by_rule ? el('sup', { title: 'by the protocol’s own rule over reports' }, BY_RULE) : null),
    el('span.interval', {}, endsOf(found) && number(endsOf(found)[0]) !== number(endsOf(found)[1])
      ? `${number(endsOf(found)[0])} to ${number(endsOf(found)[1])}` : ' '),
    onScale(found, scaleOf(column)),
    found.known !== undefined && found.known !== null && found.known < 1 ? el('span.known', {}, `${percent(found.known)} known`) : null,
    open ? el('span.known', {}, `bounds ${number(found.low)} to ${number(found.high)}`) : null);
}

/** Return the index of the best row of a column; -1 without a best one. */
function bestOf(rows, column, place) {
  const shares = rows.map(row => share(row.cells[place]?.value, column) ?? row.cells[place]?.value ?? null);
  const known = shares.filter(value => value !== null);
  if (known.length < 2) return -1;
  const top = Math.max(...known);
  return shares.filter(value => value === top).length === 1 ? shares.indexOf(top) : -1;
}

function leaderboard() {
  const { columns } = numbers();
  const heads = columns.map((column, place) => [column, place]).filter(([column]) => column.headline);
  const rows = mainRows();
  if (!heads.length) return section('Leaderboard', 'No report has a score.');
  const several = new Set(heads.map(([column]) => column.protocol)).size > 1;
  const label = column => [several ? el('span.protocol', {}, column.protocol) : null, column.label, scaleNote(column)];
  const coverage = [
    ['reports', row => row.n_evaluated === row.n_reports ? grouped(row.n_reports) : `${row.n_evaluated} of ${row.n_reports}`],
    ['sources read', row => row.n_sources ? `${row.n_sources_read}/${row.n_sources}` : '–'],
    ['answers missing', row => grouped(row.n_calls_failed)],
    ...(rows.some(row => row.n_in_part) ? [['read in part', row => grouped(row.n_in_part)]] : []),
  ];
  const best = heads.map(([column, place]) => bestOf(rows, column, place));
  const wide = rows.length > 4;
  const right = content => cell(content, { class: 'number' });
  const score = (row, h) => right(scoreCell(row, ...heads[h], best[h] === rows.indexOf(row)));
  const rest = of => row => cell(of(row), { class: 'number quiet' });
  const [head, lines] = rows.length > 4
    ? [['System', ...heads.map(([column]) => right(label(column))), ...coverage.map(([name]) => right(name))],
      rows.map(row => [words(row.name), ...heads.map((_, h) => score(row, h)), ...coverage.map(([, of]) => rest(of)(row))])]
    : [['Score', ...rows.map(row => right(words(row.name)))],
      [...heads.map(([column], h) => [label(column), ...rows.map(row => score(row, h))]), ...coverage.map(([name, of]) => [name, ...rows.map(rest(of))])]];
  const shownTable = table('Leaderboard', head, lines, { quiet: true, class: 'board' });
  const rule = rows.some(row => heads.some(([, place]) => row.cells[place]?.by_rule));
  return section('Leaderboard', 'Choose a number to see what it rests on, the worst first.', shownTable,
    el('p.fine-print', {}, 'A line is a 95 % interval: of a mean by bootstrap over reports, of a random sample for all its units. ',
      rule ? `${BY_RULE} by the protocol’s own rule over all reports, not the mean of their scores.` : ''));
}

function scaleNote(column) {
  const scale = scaleOf(column);
  if (!scale) return null;
  const range = scale.high === null ? `from ${scale.low}` : `${scale.low} to ${scale.high}`;
  return el('span.range', {}, range, scale.better === 'lower' ? ', lower is better' : '');
}

/** Return the scores that sum up reports, as each of several judges gave them. */
function byJudge() {
  const { columns, rows } = numbers();
  if (!rows.some(row => row.judge)) return null;
  const heads = columns.map((column, place) => [column, place]).filter(([column]) => column.headline);
  return section('Scores by judge', 'Each judge alone, and the ensemble.', heat('Scores by judge', heads, rows, true));
}

/** Return whether a column repeats the one above: a metric that is its own only part. */
const repeats = column => column.path.length > 2 && column.path.at(-1) === column.path.at(-2);

/** Return a heat map of the scores of each protocol by system, and a table of what is counted. */
function dimensions() {
  const { columns } = numbers();
  return [...new Set(columns.map(column => column.protocol))].map(protocol => {
    const own = columns.map((column, place) => [column, place]).filter(([column]) => column.protocol === protocol && !repeats(column));
    const scored = own.filter(([column]) => scaleOf(column));
    const counted = own.filter(([column]) => !scaleOf(column));
    const top = scored.filter(([column]) => column.path.length <= 2);
    return section(`${protocol} by system`, null,
      top.length ? heat(`Scores of ${protocol} by system`, top) : null,
      scored.length > top.length ? el('details', {}, el('summary', {}, 'All levels'), heat(`Scores of ${protocol} by system, all levels`, scored)) : null,
      counted.length ? el('details', {}, el('summary', {}, 'Counts and diagnostics'), heat(`Counts of ${protocol} by system`, counted)) : null);
  });
}

function heat(caption, own, rows = mainRows(), named = false) {
  return table(caption, ['Score', ...rows.map(row => cell(words(row.name), { class: 'number' }))],
    own.map(([column, place]) => [cell([named ? el('span.protocol', {}, column.protocol) : null, column.label], { class: `depth-${column.path.length - 1}` }), ...rows.map(row => heatCell(row, column, place))]),
    { quiet: true, class: 'heat' });
}

function heatCell(row, column, place) {
  const found = row.cells[place];
  if (!found || found.value === null) return cell(el('span.nothing', {}, '–'), { class: 'number' });
  const part = share(found.value, column);
  const link = el('a.heat-value', { href: itemsOf(row, column), 'aria-label': `${row.name}, ${column.label}: ${number(found.value)}` }, number(found.value), found.by_rule ? BY_RULE : '');
  if (part !== null) {
    link.style.setProperty('--shade', `${Math.round(100 * part)}%`);
    link.classList.add('toned');
  }
  return cell(link, { class: 'number' });
}
