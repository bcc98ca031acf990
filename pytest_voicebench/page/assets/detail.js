// What opens below a row: player and timeline, then everything in words.

const ZOOMS = [1, 2, 4, 8];
const SPEEDS = [0.5, 0.75, 1, 1.5, 2];
const LEAST_WIDTH = 560;
const RAW = [['conversation.json', 'all that happened, with its times'], ['result.json', 'how it was scored']];
const CHECKS = { tools_ok: 'all tools right', args_ok: 'all arguments right', spoke: 'took the turn' };

function buildDetail(entry, onTime) {
  const item = dataOf(entry);
  const player = new Player(item);
  const track = lasted(item) ? buildTrack(item, player, onTime) : null;
  const missing = item.missing.map((text) => h('p', { class: 'notice' }, `Missing evidence: ${text}`));
  const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Close this item' }, 'Close');
  const steps = buildSteps(entry, player);
  const heading = h('div', { class: 'panel-head' },
    h('h3', {}, item.id, ' ', h('i', {}, item.title)),
    badge(OUTCOME_KIND[item.outcome], words(item.outcome)), steps.element, close);
  const panel = h('article', { class: 'panel', 'aria-label': item.id },
    heading, item.why ? h('p', { class: 'why' }, item.why) : null, missing,
    track ? track.element : null, track ? buildMoments(item, track.seek) : null,
    h('div', { class: 'columns' }, buildExpected(item), buildSaid(item, track)),
    buildCalls(item), buildAgents(entry), buildFacts(item), buildFiles(item));
  return { panel, close, player, track, steps };
}

// A conversation that never began has no time to draw.
const lasted = (item) => item.evidence !== null && item.evidence.duration > 0;

// Where the item stands in the list, the way to its neighbours, and what can be carried away.
function buildSteps(entry, player) {
  const button = (label, by) => h('button', { type: 'button', onclick: () => step(by) }, label);
  const [previous, next, told] = [button('‹ Previous', -1), button('Next ›', 1), h('span', { class: 'note' })];
  const place = () => {
    const shown = entries.filter(isShown);
    const at = shown.indexOf(entry);
    previous.disabled = at === 0;
    next.disabled = at === shown.length - 1;
    told.textContent = `${at + 1} of ${shown.length}`;
  };
  place();
  const copy = copyButton('Copy link to this second', () => {
    setAddress(entry.id, player.time);
    return location.href;
  });
  return { element: h('div', { class: 'steps' }, previous, told, next, copy), place };
}

function copyButton(label, textOf) {
  const said = (text) => { button.textContent = text; };
  const button = h('button', { type: 'button', onclick: () => {
    const text = textOf();
    const written = navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject();
    written.then(() => said('Copied'), () => said('This browser does not allow it')).then(() => setTimeout(said, 2000, label));
  } }, label);
  return button;
}

function buildTrack(item, player, onTime) {
  const play = h('button', { type: 'button', class: 'play', onclick: () => player.toggle() }, '▶ Play');
  const clock = h('span', { class: 'clock' });
  const zoom = h('select', {}, ZOOMS.map((one) => h('option', { value: one }, one === 1 ? 'whole' : `${one} ×`)));
  const speed = h('select', { onchange: () => { player.speed = Number(speed.value); } }, SPEEDS.map((one) => h('option', { value: one, selected: one === 1 }, `${one} ×`)));
  const told = item.audio ? null : h('span', { class: 'note' }, 'no recording');
  const voices = item.audio ? buildVoices(item, player) : null;
  const view = h('div', {
    class: 'track', tabindex: '0', role: 'slider', 'aria-label': 'Position in the conversation',
    'aria-valuemin': '0', 'aria-valuemax': player.duration.toFixed(1),
  });
  const element = h('div', { class: 'player' },
    h('div', { class: 'bar' }, play, clock, h('label', {}, 'Zoom ', zoom), item.audio ? h('label', {}, 'Speed ', speed) : null, voices ? voices.controls : null, told),
    voices ? voices.asked : null, view);
  const heard = item.evidence.utterances.length + item.evidence.agent_speech.length;
  const title = `${item.id}: ${item.evidence.duration.toFixed(1)} seconds, ${heard} stretches of speech, ${item.evidence.calls.length} calls`;
  let drawn = null;
  play.disabled = !item.audio;

  const show = () => {
    const now = player.time;
    play.textContent = player.playing ? '❚❚ Pause' : '▶ Play';
    clock.textContent = player.broken ? 'the recording cannot be played' : `${now.toFixed(2)} / ${player.duration.toFixed(2)} s`;
    view.setAttribute('aria-valuenow', now.toFixed(2));
    view.setAttribute('aria-valuetext', `${now.toFixed(1)} seconds`);
    if (drawn) drawn.show(now);
    if (drawn && player.playing) {
      const at = drawn.place(now);
      if (at > view.scrollLeft + view.clientWidth - 20 || at < view.scrollLeft) view.scrollLeft = at - 80;
    }
    onTime(now, player.playing);
  };
  const draw = () => {
    const width = Math.max(view.clientWidth, LEAST_WIDTH) * Number(zoom.value);
    drawn = drawTimeline(item, width, title);
    view.replaceChildren(drawn.drawing);
    show();
  };
  const seek = (seconds) => {
    player.seek(seconds);
    if (drawn && Number(zoom.value) > 1) view.scrollLeft = drawn.place(seconds) - view.clientWidth / 3;
  };
  view.addEventListener('click', (event) => {
    const left = drawn.drawing.getBoundingClientRect().left;
    player.seek(drawn.secondsAt(event.clientX - left));
  });
  view.addEventListener('keydown', (event) => {
    if (event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    seek(event.key === 'Home' ? 0 : player.duration);
  });
  zoom.addEventListener('change', () => { draw(); seek(player.time); });
  player.listeners.push(show);
  return { element, view, draw, seek, voices };
}

// The marks as buttons: what the eye finds in the drawing, for every hand.
function buildMoments(item, seek) {
  const marks = item.evidence.marks.map((mark) => [mark.at, `${MARK_SIGNS[mark.kind]} ${mark.text}`]);
  for (const call of item.evidence.calls) {
    if (!call.untimed) marks.push([call.at, `${CALL_SIGNS[call.role]} ${call.name} called`]);
  }
  if (item.evidence.agent_speech.length) marks.push([item.evidence.agent_speech[0][0], '♪ the agent’s first speech']);
  marks.sort((a, b) => a[0] - b[0]);
  if (!marks.length) return null;
  return h('ul', { class: 'moments', 'aria-label': 'Moments' }, marks.slice(0, 40).map(([at, text]) =>
    h('li', {}, h('button', { type: 'button', onclick: () => seek(Math.max(at - 1, 0)) }, h('span', { class: 'clock' }, `${at.toFixed(2)} s`), ' ', text))));
}

function section(title, ...children) {
  return h('section', { class: 'part' }, h('h4', {}, title), children);
}

function sinceEnd(item, at) {
  const ends = item.evidence ? item.evidence.marks.filter((mark) => mark.kind === 'user_end') : [];
  return ends.length ? signed(at - ends[ends.length - 1].at) : `at ${at.toFixed(2)} s`;
}

function buildExpected(item) {
  const calls = item.evidence ? item.evidence.calls : [];
  const bodies = item.expected.map((one, n) => {
    const call = one.call === null ? null : calls[one.call];
    const when = one.call === null ? 'not called' : call ? `called ${sinceEnd(item, call.at)}, ${call.status}` : 'called';
    const head = h('tr', { class: 'tool' }, h('th', { scope: 'rowgroup', colspan: 3 }, `${n + 1}. ${one.tool}`, ' ', h('span', { class: 'note' }, when)),
      h('td', {}, badge(one.matches ? 'good' : 'bad', one.matches ? 'ok' : one.call === null ? 'missing' : 'differs')));
    const rows = one.arguments.map((argument) => h('tr', { class: argument.wrong || 'match' },
      h('th', { scope: 'row' }, argument.name), h('td', { class: 'wanted' }, code(argument.expected)), h('td', {}, code(argument.actual || argument.expected)),
      h('td', {}, verdictOf(argument))));
    const extra = one.extra.length ? h('tr', {}, h('td', { colspan: 4, class: 'note' }, `also given, not asked for: ${one.extra.join(', ')}`)) : null;
    return h('tbody', {}, head, rows, extra);
  });
  const surplus = calls.filter((call) => call.role === 'surplus').map((call) => h('tbody', {}, h('tr', { class: 'tool' },
    h('th', { scope: 'rowgroup', colspan: 3 }, call.name, ' ', h('span', { class: 'note' }, `${sinceEnd(item, call.at)}, nobody asked for it`)), h('td', {}, badge('bad', 'extra')))));
  if (!bodies.length && !surplus.length) return section('Expected and called', h('p', { class: 'none' }, 'No call was expected or judged.'));
  const head = h('thead', {}, h('tr', {}, ['argument', 'expected', 'called', 'verdict'].map((name) => h('th', { scope: 'col' }, name))));
  const retractions = item.retractions.map((text) => h('p', { class: 'retraction' }, '↩ ', text));
  return section('Expected and called', h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Expected and called' },
    h('table', { class: 'words compared' }, head, bodies, surplus)), retractions);
}

const code = (text) => h('code', { class: text.length < 24 ? 'short' : null }, text);

function verdictOf(argument) {
  if (!argument.wrong) return [badge('good', 'ok'), argument.notes.length ? ` ${argument.notes.map(words).join(', ')}` : null];
  const kind = argument.wrong === 'mismatch' ? 'bad' : 'open';
  return [badge(kind, words(argument.wrong)), h('div', { class: 'cause' }, argument.cause), h('div', { class: 'note' }, argument.reason, argument.notes.length ? `; ${argument.notes.map(words).join(', ')}` : null)];
}

function buildSaid(item, track) {
  if (!item.evidence) return null;
  const said = item.evidence.utterances.map((one) => [one.start, 'user', one.kind === 'turn' ? 'user' : `user (${words(one.kind)})`, one.text, placed(one.words), null]);
  for (const text of item.evidence.texts) {
    if (text.speaker === 'user') said.push([text.at, 'heard', 'what the agent heard', text.verbatim ? '(word for word)' : text.text, [], null]);
    else said.push([text.at, 'agent', `agent (${text.source})`, text.text, placed(text.words), text.heard]);
  }
  said.sort((a, b) => a[0] - b[0]);
  const lines = said.map(([at, kind, who, text, timed, heard]) => h('li', { class: kind },
    h('span', { class: 'who' }, who, ' ', h('span', { class: 'clock' }, `${at.toFixed(2)} s`)),
    h('p', {}, timed.length && track ? spokenWords(timed, track) : text),
    heard === null ? null : h('p', { class: 'note' }, `heard of it: ${heard}`)));
  return section('What was said', lines.length ? h('ul', { class: 'said' }, lines) : h('p', { class: 'none' }, 'No words are known.'));
}

const spokenWords = (timed, track) => timed.flatMap(([text, start]) =>
  [h('span', { class: 'spoken', title: `${start.toFixed(2)} s`, onclick: () => track.seek(start) }, text), ' ']);

function buildCalls(item) {
  if (!item.evidence || !item.evidence.calls.length) return null;
  const list = item.evidence.calls.map((call) => h('li', { class: `call ${call.role}` },
    h('p', {}, h('span', { class: 'sign', 'aria-hidden': 'true' }, CALL_SIGNS[call.role]), ' ',
      h('strong', {}, call.name), ` ${call.untimed ? 'at an unknown time' : sinceEnd(item, call.at)}, ${call.status}, ${call.role}`,
      call.reason ? ` (${call.reason})` : null, call.premature ? ', made with a value that was taken back' : null),
    h('code', {}, call.arguments || '(no arguments)'),
    call.result === null ? h('p', { class: 'note' }, 'no result') : h('details', {}, h('summary', {}, 'result'), h('code', {}, call.result))));
  return section('Tool calls (seconds after the user’s end)', h('ol', { class: 'calls' }, list));
}

// The benchmark's tables 7 and 8: one request, every agent, and every trial where there are several.
function buildAgents(entry) {
  const { group, trial: own } = dataOf(entry);
  if (agents.length < 2 && own === null) return null;
  const title = own === null ? 'This request, every agent' : agents.length < 2 ? 'This request, every trial' : 'This request, every agent and trial';
  const others = entries.filter((one) => dataOf(one).group === group).sort((a, b) => a.place - b.place);
  if (others.length < 2) return null;
  const rows = others.map((one) => {
    const { line, id, outcome } = dataOf(one);
    const name = one === entry ? h('strong', {}, heldBy(one)) : h('a', { href: `#item=${encodeURIComponent(id)}` }, heldBy(one));
    return h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'first' }, badge(OUTCOME_KIND[outcome], words(outcome))),
      [figure(line.f1, 2), [figure(line.arguments, 2), line.wrong ? h('span', { class: 'note' }, ` (${line.wrong})`) : null], figure(line.response, 2),
        figure(line.first_response, 2), figure(line.tool_call, 2), figure(line.completion, 2)].map((value) => h('td', {}, value)));
  });
  const names = ['agent', 'outcome', 'F1', 'args', 'resp.', 'first response', 'tool call', 'completion'];
  const small = others.map((one) => h('div', { class: 'strip' }, h('p', { class: 'note' }, heldBy(one)), stripOf(one)));
  return section(title, h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title },
    h('table', { class: 'figures' }, h('thead', {}, h('tr', {}, names.map((name, n) => h('th', { scope: 'col', class: n < 2 ? 'first' : null }, name)))), h('tbody', {}, rows))),
    h('details', { class: 'strips' }, h('summary', {}, 'Timelines one above the other'), small));
}

function heldBy(entry) {
  const { agent, trial } = dataOf(entry);
  return [agents[agent], trial === null ? null : `trial ${trial}`].filter(Boolean).join(', ');
}

function stripOf(entry) {
  const item = dataOf(entry);
  if (!lasted(item)) return h('p', { class: 'none' }, 'no evidence');
  const box = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Timeline of ${item.id}` });
  box.draw = () => box.replaceChildren(drawTimeline(item, Math.max(box.clientWidth, LEAST_WIDTH), `Timeline of ${item.id}`).drawing);
  return box;
}

function buildFacts(item) {
  const checks = item.checks.map(([name, met, gating]) => [h('dt', {}, CHECKS[name] || words(name), gating ? null : ' (not gating)'), h('dd', {}, badge(met === null ? 'open' : met ? 'good' : 'bad', met === null ? 'cannot be told' : met ? 'yes' : 'no'))]);
  const facts = item.facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
  return h('div', { class: 'columns' }, checks.length ? section('Checks', h('dl', { class: 'facts short' }, checks)) : null, section('More', h('dl', { class: 'facts short' }, facts)));
}

function buildFiles(item) {
  const links = [];
  if (item.audio && !item.audio.startsWith('data:')) links.push(h('a', { href: item.audio }, 'audio.flac (user left, agent right)'));
  for (const [name, told] of item.folder === null ? [] : RAW) links.push(h('a', { href: `${item.folder}${name}` }, `${name} (${told})`));
  if (item.events) links.push(h('a', { href: item.events }, 'events.jsonl (what went over the wire)'));
  const log = item.events_text.length ? h('details', {}, h('summary', {}, 'Event log'), h('pre', { tabindex: '0' }, item.events_text.join('\n'))) : null;
  return links.length || log ? section('Files', h('ul', { class: 'files' }, links.map((link) => h('li', {}, link))), log) : null;
}
