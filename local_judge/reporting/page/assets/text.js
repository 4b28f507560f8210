// Text and elements.
// Invariant: data becomes text nodes and never markup; characters that hide or reorder text are shown as escapes.

/** A control, direction mark, zero-width character or tag, and its repetitions; joiners only beside ASCII, where no script needs them. */
const HIDDEN = new RegExp(
  '([\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e' +
  '\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]' +
  '|[\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]' +
  '|(?<![^\\u0000-\\u007f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\u0000-\\u007f]))\\1*', 'gu');

const escaped = run => {
  const n = [...run].length;
  return 'U+' + run.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + (n > 1 ? ` × ${n}` : '');
};

/** Return text without characters that hide or reorder it, for attributes. */
const plain = text => String(text).replace(HIDDEN, run => `[${escaped(run)}]`);

/** Most nodes of one text; escapes behind them are plain text, because a browser takes minutes for thousands of marks. */
const MOST_NODES = 400;

/** Return nodes that show a text. */
function shown(text) {
  const nodes = [];
  let from = 0;
  text = String(text).replace(/\r\n?/g, '\n');
  for (const found of text.matchAll(HIDDEN)) {
    if (nodes.length >= MOST_NODES) break;
    if (found.index > from) nodes.push(document.createTextNode(text.slice(from, found.index)));
    const mark = document.createElement('span');
    mark.className = 'escape';
    mark.textContent = escaped(found[0]);
    nodes.push(mark);
    from = found.index + found[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(plain(text.slice(from))));
  return nodes;
}

/**
 * Return an element.
 * @param {string} tag its name, with classes: `p.note.small`
 * @param {Object} [given] attributes; `on` maps events to listeners, `data` names to values
 * @param {...(Node|string|number|null|undefined|false|Array)} children texts are shown with escapes
 */
function el(tag, given = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(' ');
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'on') for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else if (key === 'data') for (const [item, text] of Object.entries(value)) made.dataset[item] = text;
    else if (key === 'href') made.setAttribute('href', internal(value));
    else made.setAttribute(key, value === true ? '' : plain(value));
  }
  add(made, children);
  return made;
}

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    parent.append(...(child instanceof Node ? [child] : shown(child)));
  }
  return parent;
}

/** Return an address within the page; anything else is refused. */
function internal(address) {
  if (!address.startsWith('#')) throw new Error('not an address of this page');
  return address;
}

/** Return a text from a report, a page or a judge, whose direction does not change its surroundings. */
const words = (text, tag = 'bdi') => el(tag, { dir: 'auto' }, text);

/** Return a link to a web address, or the address as text if it is not one of http or https. */
function outward(address, label = address) {
  let target = null;
  try {
    target = new URL(address);
  } catch { /* shown as text */ }
  if (!target || !['http:', 'https:'].includes(target.protocol)) return el('bdi.address', {}, label);
  const link = el('a.outward', { target: '_blank', rel: 'noopener noreferrer', referrerpolicy: 'no-referrer' }, el('bdi', {}, label));
  link.setAttribute('href', target.href);
  return link;
}

/** Return the host of an address, or the address. */
function host(address) {
  try {
    return new URL(address).host || address;
  } catch {
    return address;
  }
}

/** Return a number to two places as the terminal prints it: exact halves are rounded to even. */
function number(value, places = 2) {
  if (value === null || value === undefined) return '–';
  if (places === 2 && Number.isInteger(value * 8) && Math.abs(value * 8) % 2 === 1) {
    const below = Math.floor(value * 100);
    return ((below % 2 === 0 ? below : below + 1) / 100).toFixed(2);
  }
  return value.toFixed(places);
}

const percent = share => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const grouped = n => n.toLocaleString('en');
const count = (n, one, many = one + 's') => `${grouped(n)} ${n === 1 ? one : many}`;

/** Return an address of this page with parameters. */
function address(path, parameters = {}) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const query = new URLSearchParams(kept).toString();
  return `#/${path}${query ? '?' + query : ''}`;
}
