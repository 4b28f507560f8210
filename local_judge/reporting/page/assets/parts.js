// Parts that several views share.

/** Return the label of an outcome, with its sign. */
function chip(outcome, tag = 'span') {
  const [label, tone, sign, meaning] = OUTCOMES[outcome] ?? [outcome, 'calm', '·', ''];
  return el(`${tag}.chip.${tone}`, { title: meaning }, el('span.sign', { 'aria-hidden': 'true' }, sign), label);
}

/** Return a section with a heading. */
const section = (title, lead, ...children) =>
  el('section', {}, el('h2', {}, title), lead && el('p.lead', {}, lead), ...children);

/** Return a select with a label. */
function choice(label, options, value, changed) {
  const list = el('select', { on: { change: event => changed(event.target.value) } },
    options.map(([key, text]) => el('option', { value: key, selected: key === value }, text)));
  return el('label.choice', {}, el('span', {}, label), list);
}

/** A cell with attributes. */
const cell = (content, given) => ({ content, given });

/** Return a table. Cells are contents, or made by `cell`. */
function table(caption, head, rows, given = {}) {
  const made = (tag, one, extra) => one?.given ? el(tag, { ...extra, ...one.given }, one.content) : el(tag, extra, one);
  return el('div.scroll', { tabindex: '0', role: 'region', 'aria-label': caption },
    el(`table${given.class ? '.' + given.class : ''}`, {},
      el(given.quiet ? 'caption.visually-hidden' : 'caption', {}, caption),
      el('thead', {}, el('tr', {}, head.map(one => made('th', one, { scope: 'col' })))),
      el('tbody', {}, rows.map(([first, ...rest]) =>
        el('tr', {}, made('th', first, { scope: 'row' }), rest.map(one => made('td', one, {})))))));
}

/** Return both ends of a score's interval; null without one. */
const endsOf = found => found.interval_low !== undefined && found.interval_low !== null ? [found.interval_low, found.interval_high] : null;

/** Return a small mark on a scale: the interval as a line, the value as a dot. */
function onScale(found, scale) {
  if (!scale || scale.high === null || found.value === null) return null;
  const { low, high } = scale;
  const at = value => `${Math.max(0, Math.min(100, 100 * (value - low) / (high - low)))}%`;
  const mark = el('span.scale', { 'aria-hidden': 'true' });
  const [from, to] = endsOf(found) ?? [found.value, found.value];
  mark.style.setProperty('--from', at(from));
  mark.style.setProperty('--to', at(to));
  mark.style.setProperty('--at', at(found.value));
  mark.append(el('span.range-line'), el('span.dot'));
  return mark;
}

/** Return a bar of the shares of outcomes. */
function outcomeBar(outcomes) {
  const total = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const bar = el('span.outcomes', { role: 'img', 'aria-label': Object.entries(outcomes).map(([name, n]) => `${n} ${outcomeWords(name)}`).join(', ') || 'no claims' });
  for (const [outcome, n] of Object.entries(outcomes)) {
    const part = el(`span.${outcomeTone(outcome)}`, { title: `${n} ${outcomeWords(outcome)}` });
    part.style.setProperty('flex-grow', String(n / (total || 1)));
    bar.append(part);
  }
  return bar;
}

const announce = text => { document.getElementById('status').textContent = plain(text); };
