// Elements made from data: text goes in as text, never as markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === '') continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

const svg = (name, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

const badge = (kind, text) => h('b', { class: kind }, text);

const figure = (value, digits) => (value === null ? 'n/a' : value.toFixed(digits));

const signed = (seconds) => (seconds < 0 ? '−' : '+') + Math.abs(seconds).toFixed(2) + ' s';

const words = (name) => name.replaceAll('_', ' ');
