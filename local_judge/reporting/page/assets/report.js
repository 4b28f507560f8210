// One report: its text with the claims marked, and beside it the evidence for one claim or one answer.

async function reportView(place, parameters) {
  const entry = index.entries[Number(place)];
  if (!entry) return [el('h1', {}, 'No such report')];
  const report = numbers().reports[entry.report];
  const detail = await chunk(entry.chunk);
  const { verdicts = [], items = [] } = detail;
  const verdict = parameters.v === undefined ? null : verdicts[Number(parameters.v)] ?? null;
  const item = parameters.i === undefined ? null : items[Number(parameters.i)] ?? null;
  const to = change => address(`report/${place}`, change);
  return [
    el('h1', {}, words(report.id)),
    el('p.subtitle', {}, report.system ? [words(report.system), ' · '] : '', entry.judge ? `judge ${entry.judge} · ` : '', count(report.n_words, 'word'),
      ' · ', `${report.n_sources_read} of ${count(report.n_sources, 'source')} read`),
    ...(report.problems.length ? [el('p.subtitle', {}, `Read in part: ${report.problems.join('; ')}.`)] : []),
    el('div.columns', {},
      el('article.paper', { 'aria-label': 'Text of the report' }, paper(detail, verdict, item, to)),
      el('aside.panel', { 'aria-label': 'Evidence', id: 'panel', tabindex: '-1' },
        verdict ? evidence(detail, verdict, to) : item ? answer(detail, item, to) : contents(detail, parameters.tab, to))),
  ];
}

const claimsInOrder = detail => inOrder(detail.verdicts ?? [], KINDS.claims.rank);
const itemsInOrder = detail => inOrder(detail.items ?? [], severity);

/** Return things with their places, the worst first. */
const inOrder = (all, rank) => all.map((one, n) => [one, n]).sort(([one, n], [other, m]) => rank(one) - rank(other) || n - m);

/** Return the claims, the items or the scores of a report. */
function contents(detail, tab, to) {
  const { claims = [], verdicts = [], items = [], scores = [] } = detail;
  const tabs = [['claims', 'Claims', verdicts.length], ['items', 'Items', items.length], ['scores', 'Scores', scores.length]].filter(([, , n]) => n);
  const open = tab ?? tabs[0]?.[0];
  const line = (href, label, text) => el('li', {}, el('a.line', { href }, label, el('span.what', {}, words(text))));
  return [
    el('nav.labels', { 'aria-label': 'Parts of the report' }, tabs.map(([key, label, n]) =>
      el('a', { href: to({ tab: key }), 'aria-current': key === open ? 'true' : null }, label, ' ', el('span.n', {}, grouped(n))))),
    open === 'claims' ? more(claimsInOrder(detail), ([one, n]) => line(to({ v: n }), chip(one.outcome), claims[one.claim].text), 'ol.lines.compact')
      : open === 'items' ? more(itemsInOrder(detail), ([one, n]) => line(to({ i: n }), el('span.where', {}, valueChip(one), one.protocol), one.text), 'ol.lines.compact')
        : open === 'scores' ? reportScores(scores) : null,
  ];
}

function reportScores(scores) {
  const shown = scores.filter(one => one.path.length <= 3 && !repeats(one));
  return table('Scores of the report', ['Score', cell('Value', { class: 'number' })], shown.map(one => [
    cell([one.path.length === 1 ? el('span.protocol', {}, one.protocol) : null, words(one.label)], { class: `depth-${one.path.length - 1}` }),
    cell([number(one.value), one.known !== undefined && one.known !== null && one.known < 1 ? el('span.known', {}, ` ${percent(one.known)} known`) : null,
      one.note ? el('span.known', {}, ` ${one.note}`) : null], { class: 'number' })]), { quiet: true, class: 'heat' });
}

/** Return the report's text in paragraphs, with the sentences of claims as links. */
function paper(detail, verdict, item, to) {
  const { text, claims = [], verdicts = [] } = detail;
  const link = (claim, n, part) => claimLink(claim, n, verdicts, verdict, to, part);
  if (text === null || text === undefined) {
    return [el('p.note', {}, 'The text of the report is not at hand. Name its file with --reports when you make the page.'),
      el('ol.sentences', {}, claims.map((claim, n) => el('li', {}, link(claim, n, claim.text))))];
  }
  const spans = [];
  claims.forEach((claim, n) => {
    const last = spans.at(-1);
    if (last && last.start === claim.start) last.claims.push(n);
    else if (!last || claim.start >= last.end) spans.push({ start: claim.start, end: claim.end, claims: [n] });
  });
  spans.sort((one, other) => one.start - other.start);
  const quoted = item && item.end ? { start: item.start ?? 0, end: item.end } : null;
  const blocks = [];
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const end = at + line.length;
    const last = blocks.at(-1);
    const inside = spans.some(span => span.start < at && span.end > at);
    if (!last || last.closed && !inside) blocks.push({ start: at, end, closed: false });
    else last.end = end;
    const block = blocks.at(-1);
    block.closed = !line.trim() || /^\s{0,3}(#{1,6}\s|[-*+]\s|\d+[.)]\s|\|)/.test(line);
    at = end;
  }
  return blocks.map(block => paragraph(text, block, quoted ? [] : spans, quoted, claims, verdict, link)).filter(Boolean);
}

function paragraph(text, block, spans, quoted, claims, chosen, link) {
  const raw = text.slice(block.start, block.end);
  if (!raw.trim()) return null;
  const heading = raw.match(/^\s{0,3}(#{1,6})\s+/);
  const made = heading ? el(`p.heading.level-${heading[1].length}`, { role: 'heading', 'aria-level': String(Math.min(6, heading[1].length + 1)), dir: 'auto' })
    : el(/^\s*([-*+]|\d+[.)])\s/.test(raw) ? 'p.item' : /^\s*\|/.test(raw) ? 'p.row' : 'p', { dir: 'auto' });
  let at = block.start + (heading ? heading[0].length : 0);
  const end = block.start + raw.trimEnd().length;
  for (const span of quoted ? [quoted] : spans) {
    if (span.end <= at || span.start >= end) continue;
    if (span.start > at) add(made, [text.slice(at, span.start)]);
    const from = Math.max(at, span.start), to = Math.min(end, span.end);
    if (quoted) made.append(el('mark', { id: from === span.start ? 'chosen' : null }, text.slice(from, to)));
    else {
      const worst = span.claims.toSorted((one, other) => index.outcomes.indexOf(claims[one].outcome) - index.outcomes.indexOf(claims[other].outcome))[0];
      const shownClaim = chosen && span.claims.includes(chosen.claim) ? chosen.claim : worst;
      made.append(link(claims[shownClaim], shownClaim, text.slice(from, to)));
    }
    at = to;
  }
  if (at < end) add(made, [text.slice(at, end)]);
  return made;
}

/** Return a part of the report's text as a link to the worst verdict on a claim. */
function claimLink(claim, n, verdicts, chosen, to, text) {
  const own = inOrder(verdicts, KINDS.claims.rank).filter(([verdict]) => verdict.claim === n);
  const current = chosen?.claim === n;
  return el(`a.claim.${outcomeTone(claim.outcome)}`, {
    href: to({ v: own[0]?.[1] }), title: outcomeWords(claim.outcome), 'aria-current': current ? 'true' : null, id: current ? 'chosen' : null,
  }, text);
}

/** Return links to the neighbours in a list, and to the whole list. */
function steps(order, n, to, key) {
  const at = order.findIndex(([, one]) => one === n);
  const step = (by, label, letter) => {
    const next = order[at + by];
    return next ? el('a.step', { href: to({ [key]: next[1] }), 'data-key': letter }, label) : el('span.step', {}, label);
  };
  return el('nav.steps', { 'aria-label': 'Neighbours' }, step(-1, '← worse', 'k'),
    el('a', { href: to({ tab: key === 'v' ? 'claims' : 'items' }) }, `${at + 1} of ${order.length}`), step(1, 'better →', 'j'));
}

/** Return the answer to a question of a protocol. */
function answer(detail, item, to) {
  const n = detail.items.indexOf(item);
  const verdict = (item.calls ?? []).length ? null
    : (detail.verdicts ?? []).find(one => detail.claims[one.claim].id === item.id && (one.url ?? '') === (item.url ?? ''));
  return [
    steps(itemsInOrder(detail), n, to, 'i'),
    el('p.small', {}, item.protocol, pathWords(item) ? ` › ${pathWords(item)}` : ''),
    el('h2', { id: 'claim' }, words(item.text)),
    el('p.verdict', {}, valueChip(item)),
    item.failure ? el('p.note', {}, `The judge gave no valid answer: ${item.failure}`) : null,
    item.rationale ? el('blockquote.rationale', {}, words(item.rationale)) : null,
    verdict ? grounds(detail, verdict) : [
      item.url ? source(detail, item) : [
        item.quote ? [el('p.small', {}, item.end ? 'Quotation, marked in the report:' : 'Quotation:'), el('blockquote.quotation', {}, words(item.quote, 'mark'))] : null,
        item.rejected ? el('p.note', {}, 'The judge quoted words that do not occur in the report: ', words(item.rejected, 'q')) : null],
      calls(detail, item.calls ?? [])],
  ];
}

/** Return what a verdict rests on. */
const grounds = (detail, verdict) => [
  el('p.verdict', {}, chip(verdict.outcome), verdict.confidence !== undefined && verdict.confidence !== null
    ? el('span', {}, `P(supported) = ${number(verdict.confidence)}`, verdict.threshold ? `, threshold ${number(verdict.threshold)}` : '') : null),
  verdict.failure ? el('p.note', {}, `The judge gave no valid answer: ${verdict.failure}`) : null,
  verdict.rationale ? el('blockquote.rationale', {}, words(verdict.rationale)) : null,
  verdict.url ? source(detail, verdict) : el('p.note', {}, OUTCOMES[verdict.outcome]?.[3] ?? ''),
  calls(detail, verdict.calls ?? []),
];

/** Return the evidence for a claim on one page. */
function evidence(detail, verdict, to) {
  const n = detail.verdicts.indexOf(verdict);
  const claim = detail.claims[verdict.claim];
  const siblings = detail.verdicts.map((one, m) => [one, m]).filter(([one]) => one.claim === verdict.claim);
  return [
    steps(claimsInOrder(detail), n, to, 'v'),
    el('h2', { id: 'claim' }, words(claim.text)),
    siblings.length > 1 ? el('nav.labels.small', { 'aria-label': 'Pages of this claim' }, siblings.map(([one, m]) =>
      el('a', { href: to({ v: m }), 'aria-current': m === n ? 'true' : null }, chip(one.outcome), ' ', el('bdi', {}, host(one.url ?? ''))))) : null,
    grounds(detail, verdict),
  ];
}

function source(detail, verdict) {
  const { excerpt } = verdict;
  return el('section.source', {},
    el('h3', {}, verdict.title ? words(verdict.title) : 'Source'),
    el('p.url', {}, outward(verdict.url)),
    verdict.reliable === true || verdict.reliable === false ? el('p.small', {}, `The judge rates the source as ${verdict.reliable ? '' : 'not '}reliable.`) : null,
    verdict.reason ? el('p.note', {}, verdict.reason) : null,
    verdict.rejected ? el('p.note', {}, 'The judge quoted words that do not occur in the page: ', words(verdict.rejected, 'q')) : null,
    excerpt ? excerptOf(excerpt, verdict) : [
      verdict.quote ? el('blockquote.quotation', {}, words(verdict.quote, 'mark')) : null,
      verdict.quote || ['partial', 'not_found', 'off_topic', 'unusable', 'contradicted', 'supported'].includes(verdict.outcome)
        ? el('p.note', {}, 'The text of the page is not available. Name the snapshot with --snapshot when you make the page.') : null]);
}

function excerptOf(excerpt, verdict) {
  const box = el('blockquote.excerpt', { dir: 'auto', tabindex: '0', role: 'region', 'aria-label': 'Text of the page' });
  let at = 0;
  if (excerpt.before) box.append(el('span.cut', {}, '… '));
  for (const [from, to] of excerpt.marks ?? []) {
    add(box, [excerpt.text.slice(at, from)]);
    box.append(el('mark', { id: 'quotation' }, excerpt.text.slice(from, to)));
    at = to;
  }
  add(box, [excerpt.text.slice(at)]);
  if (excerpt.after) box.append(el('span.cut', {}, ' …'));
  return [
    el('p.small', {}, (excerpt.marks ?? []).length ? 'Quotation in the text of the page:' : 'No quotation. The judge was shown the page from here:'),
    box,
    verdict.quote && !(excerpt.marks ?? []).length ? el('p.small', {}, 'Quotation in the title of the page: ', words(verdict.quote, 'mark')) : null,
  ];
}

function calls(detail, places) {
  if (!places.length) return el('p.small', {}, detail.calls_at_hand ? 'No prompt: code decided.' : 'Prompts and replies are not at hand. Name the ledger with --ledger when you make the page.');
  return places.map((place, n) => {
    const call = detail.calls[place];
    return el('details.call', {},
      el('summary', {}, `Prompt and reply ${places.length > 1 ? n + 1 : ''}`, el('span.where', {}, words(call.model), el('span', {}, `${grouped(call.tokens?.[0] ?? 0)} + ${grouped(call.tokens?.[1] ?? 0)} tokens`))),
      ...[['System', detail.texts[call.system]], ['Report or page, shared with other prompts', detail.texts[call.shared]], ['Question', call.own],
        ['Reasoning', call.reasoning], ['Reply', call.reply || options(call)]]
        .filter(([, text]) => text).map(([label, text]) => [el('h4', {}, label), el('pre', { tabindex: '0', dir: 'auto', 'aria-label': label }, text)]));
  });
}

const options = call => Object.entries(call.options ?? {}).map(([name, log]) => `${name}  ${number(Math.exp(log), 4)}`).join('\n');
