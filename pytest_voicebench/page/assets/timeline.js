// One timeline of an item, drawn for a width in pixels: voices, words, calls, marks.

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const GUTTER = 54;
const VOICE = 46;
const LEAST_PAUSE = 0.25;
const CALL_SIGNS = { ok: '✓', wrong: '✗', surplus: '+', cancelled: '–', unjudged: '•' };
const MARK_SIGNS = {
  user_end: '■', retraction: '↩', interruption: '!', backchannel: '~', filler: '…', clear: '×',
};
const MARK_NAMES = {
  user_end: 'user’s end', retraction: 'retraction heard', interruption: 'interruption', backchannel: 'backchannel',
  filler: 'filler', clear: 'cut off',
};

const pen = document.createElement('canvas').getContext('2d');

function widthOf(text, weight) {
  pen.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// Places labels in as few lines as hold them side by side.
function inLines(labels) {
  const ends = [];
  for (const label of [...labels].sort((a, b) => a.x - b.x)) {
    let line = ends.findIndex((end) => end <= label.x);
    if (line < 0) line = ends.push(0) - 1;
    ends[line] = label.x + label.width;
    label.line = line;
  }
  return ends.length;
}

function outlinePath(letters, seconds, x, middle) {
  if (!letters) return '';
  const step = seconds / letters.length;
  const points = Array.from(letters, (letter, n) => [x((n + 0.5) * step), LETTERS.indexOf(letter) / 63]);
  const half = VOICE / 2 - 2;
  const above = points.map(([at, share]) => `${at.toFixed(1)} ${(middle - Math.max(share * half, 0.5)).toFixed(1)}`);
  const below = points.reverse().map(([at, share]) => `${at.toFixed(1)} ${(middle + Math.max(share * half, 0.5)).toFixed(1)}`);
  return `M${above.join('L')}L${below.join('L')}Z`;
}

function drawVoice(x, top, evidence, who, stretches) {
  const drawn = stretches.map(([start, end]) =>
    svg('rect', { x: x(start), y: top, width: Math.max(x(end) - x(start), 1), height: VOICE, class: `speech ${who}` }));
  const letters = who === 'user' ? evidence.user_outline : evidence.agent_outline;
  drawn.push(svg('path', { d: outlinePath(letters, evidence.sound, x, top + VOICE / 2), class: `wave ${who}` }));
  return drawn;
}

// Gaps inside what the user said, with their length.
function drawPauses(x, top, utterances) {
  const drawn = [];
  for (const { speech } of utterances) {
    for (let n = 1; n < speech.length; n += 1) {
      const [start, end] = [speech[n - 1][1], speech[n][0]];
      const width = x(end) - x(start);
      if (end - start < LEAST_PAUSE) continue;
      drawn.push(svg('rect', { x: x(start), y: top + VOICE - 5, width, height: 5, class: 'pause' },
        svg('title', {}, `pause of ${(end - start).toFixed(2)} s`)));
      if (width > 26) drawn.push(svg('text', { x: x(start) + width / 2, y: top + VOICE - 8, 'text-anchor': 'middle', class: 'small' }, (end - start).toFixed(1)));
    }
  }
  return drawn;
}

function drawWords(x, y, list) {
  const drawn = [];
  let free = 0;
  for (const [text, start, end] of list) {
    const title = svg('title', {}, `${text} (${start.toFixed(2)} s)`);
    if (x(start) < free) {
      drawn.push(svg('rect', { x: x(start), y: y + 3, width: Math.max(x(end) - x(start) - 1, 1), height: 2, class: 'unread' }, title));
      continue;
    }
    drawn.push(svg('text', { x: x(start), y, class: 'word' }, title, text));
    free = x(start) + widthOf(text, 400) + 4;
  }
  return drawn;
}

function drawCalls(x, top, calls, width) {
  const labels = calls.map((call) => {
    const pair = call.pair === null ? '' : ` #${call.pair + 1}`;
    const text = `${CALL_SIGNS[call.role]} ${call.name}${pair}${call.premature ? ' (premature)' : ''}`;
    const from = x(call.at);
    const to = Math.max(x(call.until === null ? call.at : call.until), from + 5);
    const long = widthOf(text, 600) + 12;
    const before = to + long > width;  // no room on the right
    return { call, text, x: before ? from - long : from, from, to, before, width: to - from + long };
  });
  const lines = inLines(labels);
  const drawn = labels.map(({ call, text, line, from, to, before }) => svg('g', { class: `call ${call.role}` },
    svg('title', {}, `${call.at.toFixed(2)} s: ${call.name}(${call.arguments}) ${call.status}`),
    svg('rect', { x: from, y: top + line * 20 + 3, width: to - from, height: 14, rx: 2 }),
    svg('text', { x: before ? from - 4 : to + 4, y: top + line * 20 + 14, 'text-anchor': before ? 'end' : 'start' }, text)));
  return [drawn, lines];
}

function drawMarks(x, top, bottom, marks, width) {
  const labels = marks.map((mark) => {
    const text = `${MARK_SIGNS[mark.kind]} ${MARK_NAMES[mark.kind]}`;
    const long = 12 + widthOf(text, 400);
    const before = x(mark.at) + long > width;
    return { mark, text, at: x(mark.at), x: before ? x(mark.at) - long : x(mark.at), before, width: long };
  });
  const lines = inLines(labels);
  const drawn = labels.map(({ mark, text, line, at, before }) => svg('g', { class: `mark ${mark.kind}` },
    svg('title', {}, `${mark.at.toFixed(2)} s: ${mark.text}`),
    svg('path', { d: `M${at} ${top}V${bottom + line * 17 + 12}` }),
    svg('text', { x: before ? at - 4 : at + 4, y: bottom + line * 17 + 12, 'text-anchor': before ? 'end' : 'start' }, text)));
  return [drawn, lines];
}

function drawRuler(x, duration, height, scale) {
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60].find((one) => one * scale >= 48) || 120;
  const drawn = [];
  for (let n = 0; n * step <= duration + 1e-6; n += 1) {
    const at = n * step;
    drawn.push(svg('path', { d: `M${x(at)} 16V${height}`, class: 'grid' }));
    drawn.push(svg('text', { x: x(at) + 3, y: 12, class: 'small' }, step < 1 ? at.toFixed(1) : String(at)));
  }
  return drawn;
}

// The drawing, and how to turn seconds into pixels and back.
function drawTimeline(item, width, title) {
  const { evidence } = item;
  const scale = (width - GUTTER - 12) / evidence.duration;
  const x = (seconds) => Math.round((GUTTER + seconds * scale) * 10) / 10;
  const userTop = 20;
  const agentTop = userTop + VOICE + 22;
  const callsTop = agentTop + VOICE + 24;
  const spoken = evidence.utterances.flatMap((one) => (one.speech.length ? one.speech : [[one.start, one.end]]));
  const userWords = evidence.utterances.flatMap((one) => placed(one.words));
  const agentWords = evidence.texts.filter((one) => one.speaker === 'agent').flatMap((one) => placed(one.words));
  const [calls, callLines] = drawCalls(x, callsTop, evidence.calls, width);
  const marksTop = callsTop + Math.max(callLines, 1) * 20 + 6;
  const [marks, markLines] = drawMarks(x, userTop, marksTop, evidence.marks, width);
  const height = marksTop + Math.max(markLines, 1) * 17 + 6;
  const lanes = [['user', userTop + VOICE / 2 + 4], ['agent', agentTop + VOICE / 2 + 4], ['calls', callsTop + 14], ['marks', marksTop + 12]]
    .map(([name, y]) => svg('text', { x: 0, y, class: 'lane' }, name));
  const cursor = svg('path', { d: `M${GUTTER} 14V${height}`, class: 'cursor' });
  const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title, class: 'timeline' },
    drawRuler(x, evidence.duration, marksTop, scale),
    drawVoice(x, userTop, evidence, 'user', spoken), drawPauses(x, userTop, evidence.utterances),
    drawWords(x, userTop + VOICE + 13, userWords),
    drawVoice(x, agentTop, evidence, 'agent', evidence.agent_speech),
    drawWords(x, agentTop + VOICE + 13, agentWords), calls, marks, lanes, cursor);
  return {
    drawing,
    show: (seconds) => cursor.setAttribute('transform', `translate(${(seconds * scale).toFixed(1)} 0)`),
    place: (seconds) => x(seconds),
    secondsAt: (pixels) => (pixels - GUTTER) / scale,
  };
}
