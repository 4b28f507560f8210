// Addresses, keys and the theme.

const KEYS = [
  ['g o', 'overview'], ['g c', 'claims'], ['g i', 'items'], ['g r', 'reports'], ['/', 'search'], ['j', 'next claim of a report'],
  ['k', 'previous claim of a report'], ['t', 'light, dark or the system’s colours'], ['?', 'this list'], ['Esc', 'close'],
];
const THEMES = ['auto', 'light', 'dark'];
let pressed = '';

function route() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return [path.split('/'), Object.fromEntries(new URLSearchParams(query))];
}

async function render() {
  const [[view, place], parameters] = route();
  const main = document.getElementById('main');
  let parts;
  try {
    if (Object.hasOwn(KINDS, view)) parts = await listView(view, parameters);
    else if (view === 'reports') parts = reportsView(parameters);
    else if (view === 'report') parts = await reportView(place, parameters);
    else parts = overviewView();
  } catch (error) {
    console.warn(error);
    parts = [el('h1', {}, 'This part cannot be shown'), el('p.note', {}, error.message)];
  }
  main.replaceChildren(...add(document.createDocumentFragment(), parts).childNodes);
  main.className = `view-${view || 'overview'}`;
  document.title = `${main.querySelector('h1')?.textContent ?? 'Evaluation report'} – local_judge`;
  for (const link of document.querySelectorAll('#bar nav a')) {
    if (link.dataset.view === (view || 'overview')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const quotation = document.getElementById('quotation');
  if (quotation) quotation.parentElement.scrollTop = quotation.offsetTop - 60;
  const narrow = window.matchMedia('(max-width: 52rem)').matches;
  const chosen = document.getElementById('chosen');
  window.scrollTo(0, 0);
  if (chosen && !narrow) chosen.scrollIntoView({ block: 'center' });
  if (document.getElementById('claim')) document.getElementById('panel').focus({ preventScroll: true });
}

function bar() {
  const link = (view, label) => el('a', { href: view === 'overview' ? '#/' : address(view), data: { view } }, label);
  document.getElementById('bar').append(
    el('a.brand', { href: '#/', 'aria-label': 'local_judge, overview' }, 'local_judge'),
    el('nav', { 'aria-label': 'Views' }, link('overview', 'Overview'), ...Object.entries(KINDS).filter(([kind]) => index.lists.some(list => list.kind === kind && list.n)).map(([kind, of]) => link(kind, of.title)), link('reports', 'Reports')),
    el('span.tools', {},
      el('button', { type: 'button', id: 'theme', on: { click: turn } }, 'Theme: auto'),
      el('button', { type: 'button', 'aria-label': 'Keyboard shortcuts', on: { click: help } }, '?')));
}

function turn() {
  const button = document.getElementById('theme');
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? 'auto') + 1) % THEMES.length];
  document.documentElement.dataset.theme = next;
  button.textContent = `Theme: ${next}`;
  announce(`Theme: ${next}`);
}

function help() {
  let box = document.getElementById('help');
  if (!box) {
    box = el('dialog', { id: 'help', 'aria-labelledby': 'help-title' }, el('h2', { id: 'help-title' }, 'Keyboard'),
      el('dl.keys', {}, KEYS.map(([key, meaning]) => [el('dt', {}, key.split(' ').map(one => el('kbd', {}, one))), el('dd', {}, meaning)])),
      el('button', { type: 'button', on: { click: () => box.close() } }, 'Close'));
    document.body.append(box);
  }
  box.showModal();
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.target.closest('input, select, textarea')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const both = `${pressed} ${event.key}`;
  pressed = event.key;
  const places = { 'g o': '#/', 'g c': '#/claims', 'g i': '#/items', 'g r': '#/reports' };
  if (both in places) location.hash = places[both];
  else if (event.key === '?') help();
  else if (event.key === 't') turn();
  else if (event.key === '/') { event.preventDefault(); findSearch(); }
  else if (event.key === 'j' || event.key === 'k') document.querySelector(`[data-key="${event.key}"]`)?.click();
}

function findSearch() {
  const field = document.getElementById('search');
  if (field) field.focus();
  else {
    location.hash = '#/claims';
    window.addEventListener('shown', () => document.getElementById('search')?.focus(), { once: true });
  }
}

async function start() {
  if (typeof DecompressionStream === 'undefined') {
    document.getElementById('loading').textContent = 'This page needs a browser of 2023 or newer.';
    return;
  }
  index = await chunk('index');
  bar();
  document.addEventListener('keydown', key);
  const show = async () => {
    const place = location.hash;
    await render();
    document.documentElement.dataset.place = place;
    window.dispatchEvent(new Event('shown'));
  };
  window.addEventListener('hashchange', show);
  await show();
  document.documentElement.dataset.ready = 'true';
}

start();
