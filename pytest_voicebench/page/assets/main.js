// What the page does: opens items, follows addresses, listens to the keyboard.

const form = document.getElementById('filters');
const find = document.getElementById('find');
const status = document.getElementById('shown');
let open = null;

function setAddress(id, seconds) {
  const at = seconds === null ? '' : `&t=${Number(seconds.toFixed(2))}`;
  history.replaceState(null, '', id === null ? '#items' : `#item=${encodeURIComponent(id)}${at}`);
}

// The filters anew: an opened item that they hide closes, any other learns its new place.
function refilter() {
  filterRows(form, status);
  if (open === null) return;
  if (isShown(open.entry)) open.steps.place(); else closeItem();
}

function closeItem() {
  if (open === null) return;
  open.player.close();
  open.line.remove();
  open.resize.disconnect();
  open.link.setAttribute('aria-expanded', 'false');
  open.entry.row.classList.remove('opened');
  open = null;
}

function openItem(entry, seconds) {
  closeItem();
  if (entry.row.hidden) { form.reset(); refilter(); }
  const { link } = entry;
  let before = null;
  const built = buildDetail(entry, (now, playing) => {
    const second = playing ? Math.floor(now) : now;
    if (open !== null && second !== before) setAddress(entry.id, second);
    before = second;
  });
  const cell = h('td', {}, built.panel);
  const line = h('tr', { class: 'detail' }, cell);
  entry.row.after(line);
  entry.row.classList.add('opened');
  link.setAttribute('aria-expanded', 'true');
  built.close.addEventListener('click', () => { closeItem(); setAddress(null, null); link.focus(); });
  for (const strips of built.panel.querySelectorAll('details.strips')) {
    strips.addEventListener('toggle', () => { for (const box of strips.querySelectorAll('.scroll')) box.draw?.(); });
  }
  const draw = () => {
    cell.colSpan = Array.from(entry.row.cells).filter((one) => one.offsetParent !== null).length;
    if (built.track) built.track.draw();
  };
  const resize = new ResizeObserver(draw);
  open = { entry, line, link, player: built.player, track: built.track, steps: built.steps, resize };
  draw();
  resize.observe(built.track ? built.track.element : built.panel);
  if (built.track) built.track.seek(seconds || 0);
  entry.row.scrollIntoView({ block: 'start' });
  (built.track ? built.track.view : built.close).focus({ preventScroll: true });
}

function followAddress(address) {
  const wanted = new URLSearchParams(new URL(address).hash.slice(1));
  const entry = entryById.get(wanted.get('item'));
  if (!entry) return;
  const seconds = Number.parseFloat(wanted.get('t')) || 0;
  if (open !== null && open.entry === entry) { if (open.track) open.track.seek(seconds); } else openItem(entry, seconds);
}

function step(by) {
  const shown = entries.filter(isShown);
  if (!shown.length) return;
  const current = open ? open.entry : entries.find((entry) => entry.row.contains(document.activeElement));
  const place = shown.indexOf(current);
  const next = shown[place < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(Math.max(place + by, 0), shown.length - 1)];
  if (open) { if (next !== open.entry) { openItem(next, 0); setAddress(next.id, null); } } else {
    next.link.focus({ preventScroll: true });
    next.row.scrollIntoView({ block: 'nearest' });
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  if (key === 'Escape') {
    if (target === find && find.value) { find.value = ''; refilter(); }
    else if (open) { const { link } = open; closeItem(); setAddress(null, null); link.focus(); }
    else if (target instanceof HTMLElement) target.blur();
    return;
  }
  if (target.closest('input, select, textarea')) return;
  if (key === '/') { event.preventDefault(); find.focus(); find.select(); }
  else if (key === 'j' || key === 'k') { event.preventDefault(); step(key === 'j' ? 1 : -1); }
  else if (open && open.track && key === ' ' && !target.closest('button, a, summary')) { event.preventDefault(); open.player.toggle(); }
  else if (open && open.track && open.track.voices && key === 'v') { event.preventDefault(); open.track.voices.step(); }
  else if (open && open.track && (key === 'ArrowLeft' || key === 'ArrowRight')) {
    event.preventDefault();
    open.track.seek(open.player.time + (key === 'ArrowLeft' ? -1 : 1) * (event.shiftKey ? 0.1 : 1));
  }
}

function startTheme() {
  const button = document.getElementById('theme');
  const root = document.documentElement;
  const dark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const label = () => { button.textContent = dark() ? 'Light' : 'Dark'; };
  button.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; label(); });
  button.hidden = false;
  label();
}

// How much of the window the header takes: what is scrolled to stops below it.
function measureHeader() {
  const header = document.querySelector('.top');
  const tell = () => document.documentElement.style.setProperty('--top', `${header.offsetHeight}px`);
  new ResizeObserver(tell).observe(header);
  tell();
}

function start() {
  makeSortable(() => { if (open) { open.entry.row.after(open.line); open.steps.place(); } });
  form.hidden = false;
  document.body.classList.add('scripted');
  form.addEventListener('input', refilter);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => setTimeout(refilter));
  const save = document.getElementById('save');
  save.hidden = false;
  save.addEventListener('click', () => {
    const file = URL.createObjectURL(new Blob(['\ufeff', shownAsCsv()], { type: 'text/csv' }));
    h('a', { href: file, download: `${document.title.replace(/[^\w.-]+/g, '_')}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(file), 1000);
  });
  for (const { link } of entries) link.setAttribute('aria-expanded', 'false');
  table.addEventListener('click', (event) => {
    const entry = entryByRow.get(event.target.closest('tr'));
    const link = event.target.closest('a');
    if (!entry || event.ctrlKey || event.metaKey || (!link && String(getSelection()))) return;
    event.preventDefault();
    if (open && open.entry === entry) { closeItem(); setAddress(null, null); } else { openItem(entry, 0); setAddress(entry.id, null); }
  });
  addEventListener('hashchange', (event) => followAddress(event.newURL));  // what plays may have changed the address since
  document.addEventListener('keydown', onKey);
  startTheme();
  measureHeader();
  followAddress(location.href);
}

start();
