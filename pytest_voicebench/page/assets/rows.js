// The table of items: finding, filtering, sorting. Item data is read only when it is needed.

const OUTCOME_KIND = { passed: 'good', failed: 'bad', error: 'open', skipped: 'open', not_run: 'open' };

const table = document.getElementById('items-table');
const agents = JSON.parse(document.getElementById('agents').textContent);
const shapes = JSON.parse(document.getElementById('shapes').textContent);
const lines = document.getElementById('data').textContent.split('\n');
const entries = Array.from(table.tBodies[0].rows, (row, place) => {
  const link = row.querySelector('a');
  return { row, place, link, id: link.textContent, data: null, text: null };
});
const entryById = new Map(entries.map((entry) => [entry.id, entry]));
const entryByRow = new Map(entries.map((entry) => [entry.row, entry]));

// Columns are counted from the right: of several agents each row has one cell more on the left.
const LISTS = { disfluency: true, reason: true };
const COLUMNS = { agent: 11, outcome: 10, disfluency: 9, domain: 8, difficulty: 7 };

// An object from the array of its fields' values.
function unpack(shape, values) {
  const found = {};
  shapes[shape].forEach(([name, kind, empty], n) => {
    const value = values[n] ?? empty;
    if (kind === null || value === null) found[name] = value;
    else found[name] = Array.isArray(empty) ? value.map((one) => unpack(kind, one)) : unpack(kind, value);
  });
  return found;
}

function dataOf(entry) {
  if (entry.data === null) entry.data = unpack('Item', JSON.parse(lines[entry.place]));
  return entry.data;
}

// Words as [text, start, end] in seconds.
function placed(words) {
  if (words === null) return [];
  let at = 0;
  return words.text.split(' ').map((text, n) => {
    const start = at + words.places[2 * n];
    at = start + words.places[2 * n + 1];
    return [text, start / 100, at / 100];
  });
}

// What can be found: the row itself, what was said, and what was called.
function textOf(entry) {
  if (entry.text === null) {
    const { evidence } = dataOf(entry);
    const said = evidence ? [...evidence.utterances, ...evidence.texts].map((one) => one.text) : [];
    const called = evidence ? evidence.calls.map((call) => `${call.name} ${call.arguments}`) : [];
    entry.text = [entry.row.textContent, ...said, ...called].join('\n').toLowerCase();
  }
  return entry.text;
}

const isShown = (entry) => !entry.row.hidden;

function matches(entry, choices, wanted) {
  for (const [name, value] of choices) {
    if (value === '*') continue;
    const own = name === 'reason' ? entry.row.dataset.reason || '' : entry.row.cells[entry.row.cells.length - COLUMNS[name]].textContent;
    if (LISTS[name] ? !own.split(', ').includes(value) : own !== value) return false;
  }
  return wanted.every((word) => textOf(entry).includes(word));
}

function filterRows(form, status) {
  const choices = Array.from(form.querySelectorAll('select'), (select) => [select.name, select.value]);
  const wanted = form.querySelector('#find').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const entry of entries) {
    entry.row.hidden = !matches(entry, choices, wanted);
    if (isShown(entry)) shown += 1;
  }
  const items = entries.length === 1 ? '1 item' : `${entries.length} items`;
  status.textContent = shown === entries.length ? items : `${shown} of ${items}`;
}

// The rows that are shown, for a spreadsheet: what it would take for a formula becomes text, as in `export csv`.
function shownAsCsv() {
  const quoted = (text) => {
    const safe = /^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const texts = (row) => Array.from(row.cells, (cell) => {
    const parts = Array.from(cell.childNodes, (node) => node.textContent.trim());
    return parts.filter(Boolean).join(', ');
  });
  const rows = [table.tHead.rows[0], ...entries.filter(isShown).map((entry) => entry.row)];
  return rows.map((row) => `${texts(row).map(quoted).join(',')}\r\n`).join('');
}

function cellValue(entry, column) {
  const text = entry.row.cells[column].textContent.trim();
  const number = Number.parseFloat(text);
  return Number.isNaN(number) || !/^-?[\d.]+$/.test(text) ? text.toLowerCase() : number;
}

// Numbers before words, and what was not measured last whichever way is up.
function compare(a, b, direction) {
  const empty = (value) => value === '' || value === 'n/a';
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  const order = typeof a === 'number' ? a - b : a.localeCompare(b, undefined, { numeric: true });
  return direction * order;
}

function sortRows(heading, afterwards) {
  const direction = heading.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
  for (const other of heading.parentNode.cells) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', direction === 1 ? 'ascending' : 'descending');
  const values = new Map(entries.map((entry) => [entry, cellValue(entry, heading.cellIndex)]));
  entries.sort((a, b) => compare(values.get(a), values.get(b), direction) || a.place - b.place);
  table.tBodies[0].append(...entries.map((entry) => entry.row));
  afterwards();
}

function makeSortable(afterwards) {
  for (const heading of table.tHead.rows[0].cells) {
    const label = heading.textContent;
    heading.replaceChildren(h('button', { type: 'button', onclick: () => sortRows(heading, afterwards) }, label));
  }
}
