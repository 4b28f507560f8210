// One report: its text with the claims marked, and beside it the evidence for one claim.

async function reportView(place, parameters) {
  const entry = index.entries[Number(place)];
  if (!entry) return [el('h1', {}, 'No such report')];
  const report = numbers().reports[entry.report];
  const detail = await chunk(entry.chunk);
  const { claims = [], verdicts = [] } = detail;
  const chosen = parameters.v !== undefined ? verdicts[Number(parameters.v)] : null;
  const order = verdicts.map((verdict, n) => [verdict, n]).sort(([one, n], [other, m]) =>
    index.outcomes.indexOf(one.outcome) - index.outcomes.indexOf(other.outcome) || (one.confidence ?? 0) - (other.confidence ?? 0) || n - m);
  const to = n => address(`report/${place}`, { ...parameters, v: n });
  const panel = chosen
    ? evidence(detail, chosen, Number(parameters.v), order, to, place)
    : [el('h2', {}, count(verdicts.length, 'claim'), ', the worst first'),
      el('ol.lines.compact', {}, order.map(([verdict, n]) => el('li', {}, el('a.line', { href: to(n) }, chip(verdict.outcome), el('span.what', {}, words(claims[verdict.claim].text))))))];
  return [
    el('h1', {}, words(report.id)),
    el('p.subtitle', {}, report.system ? [words(report.system), ' · '] : '', entry.judge ? `judge ${entry.judge} · ` : '', count(report.n_words, 'word'),
      ' · ', `${report.n_sources_read} of ${count(report.n_sources, 'source')} read`),
    el('div.columns', {},
      el('article.paper', { 'aria-label': 'Text of the report' }, paper(detail, chosen, verdicts, place, parameters)),
      el('aside.panel', { 'aria-label': 'Evidence', id: 'panel', tabindex: '-1' }, panel)),
  ];
}

/** Return the report's text in paragraphs, with the sentences of claims as links. */
function paper(detail, chosen, verdicts, place, parameters) {
  const { text, claims = [] } = detail;
  if (text === null || text === undefined) {
    return [el('p.note', {}, 'The text of the report is not at hand. Name its file with --reports when you make the page.'),
      el('ol.sentences', {}, claims.map((claim, n) => el('li', {}, claimLink(claim, n, verdicts, place, parameters, chosen, claim.text))))];
  }
  const spans = [];
  claims.forEach((claim, n) => {
    const last = spans.at(-1);
    if (last && last.start === claim.start) last.claims.push(n);
    else if (!last || claim.start >= last.end) spans.push({ start: claim.start, end: claim.end, claims: [n] });
  });
  spans.sort((one, other) => one.start - other.start);
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
  return blocks.map(block => paragraph(text, block, spans, claims, verdicts, place, parameters, chosen)).filter(Boolean);
}

function paragraph(text, block, spans, claims, verdicts, place, parameters, chosen) {
  const raw = text.slice(block.start, block.end);
  if (!raw.trim()) return null;
  const heading = raw.match(/^\s{0,3}(#{1,6})\s+/);
  const made = heading ? el(`p.heading.level-${heading[1].length}`, { role: 'heading', 'aria-level': String(Math.min(6, heading[1].length + 1)), dir: 'auto' })
    : el(/^\s*([-*+]|\d+[.)])\s/.test(raw) ? 'p.item' : /^\s*\|/.test(raw) ? 'p.row' : 'p', { dir: 'auto' });
  let at = block.start + (heading ? heading[0].length : 0);
  const end = block.start + raw.trimEnd().length;
  for (const span of spans) {
    if (span.end <= at || span.start >= end) continue;
    if (span.start > at) add(made, [text.slice(at, span.start)]);
    const from = Math.max(at, span.start), to = Math.min(end, span.end);
    const worst = span.claims.toSorted((one, other) => index.outcomes.indexOf(claims[one].outcome) - index.outcomes.indexOf(claims[other].outcome))[0];
    const shownClaim = chosen && span.claims.includes(chosen.claim) ? chosen.claim : worst;
    made.append(claimLink(claims[shownClaim], shownClaim, verdicts, place, parameters, chosen, text.slice(from, to)));
    at = to;
  }
  if (at < end) add(made, [text.slice(at, end)]);
  return made;
}

/** Return a part of the report's text as a link to the worst verdict on a claim. */
function claimLink(claim, n, verdicts, place, parameters, chosen, text) {
  const own = verdicts.map((verdict, v) => [verdict, v]).filter(([verdict]) => verdict.claim === n);
  own.sort(([one], [other]) => index.outcomes.indexOf(one.outcome) - index.outcomes.indexOf(other.outcome));
  const current = chosen?.claim === n;
  return el(`a.claim.${outcomeTone(claim.outcome)}`, {
    href: address(`report/${place}`, { ...parameters, v: own[0]?.[1] }), title: outcomeWords(claim.outcome),
    'aria-current': current ? 'true' : null, id: current ? 'chosen' : null,
  }, text);
}

function evidence(detail, verdict, n, order, to, place) {
  const claim = detail.claims[verdict.claim];
  const at = order.findIndex(([, one]) => one === n);
  const step = (by, label, key) => {
    const next = order[at + by];
    return next ? el('a.step', { href: to(next[1]), 'data-key': key }, label) : el('span.step', {}, label);
  };
  const siblings = detail.verdicts.map((one, m) => [one, m]).filter(([one]) => one.claim === verdict.claim);
  return [
    el('nav.steps', { 'aria-label': 'Claims' }, step(-1, '← worse', 'k'), el('a', { href: address(`report/${place}`) }, `${at + 1} of ${order.length}`), step(1, 'better →', 'j')),
    el('h2', { id: 'claim' }, words(claim.text)),
    el('p.verdict', {}, chip(verdict.outcome), verdict.confidence !== undefined && verdict.confidence !== null
      ? el('span', {}, `P(supported) = ${number(verdict.confidence)}`, verdict.threshold ? `, threshold ${number(verdict.threshold)}` : '') : null),
    siblings.length > 1 ? el('nav.labels.small', { 'aria-label': 'Pages of this claim' }, siblings.map(([one, m]) =>
      el('a', { href: to(m), 'aria-current': m === n ? 'true' : null }, chip(one.outcome), ' ', el('bdi', {}, host(one.url ?? ''))))) : null,
    verdict.failure ? el('p.note', {}, `The judge gave no valid answer: ${verdict.failure}`) : null,
    verdict.rationale ? el('blockquote.rationale', {}, words(verdict.rationale)) : null,
    verdict.url ? source(detail, verdict) : el('p.note', {}, OUTCOMES[verdict.outcome]?.[3] ?? ''),
    calls(detail, verdict.calls ?? []),
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
      verdict.outcome in { supported: 1, partial: 1, contradicted: 1, not_found: 1, off_topic: 1 }
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
