// One voice alone. A browser lets no page opened from disk take the channels of a file beside it apart, unless a person
// chooses that file; then, from a server, and where the sound is inside the page, both channels go through here.

const VOICES = [['both', 'both'], ['user', 'user alone'], ['agent', 'agent alone']];
const CHANNELS = { both: [[0, 0], [1, 1]], user: [[0, 0], [0, 1]], agent: [[1, 0], [1, 1]] };
let chosen = [];  // files of the run's folder

const readable = (address) => location.protocol !== 'file:' || !address.startsWith('./');

// The chosen file at this address, whether the run's folder was chosen or one inside it; null where there is none.
function chosenFile(address) {
  const path = decodeURIComponent(address.replace(/^\.\//, ''));
  return chosen.find((file) => {
    const own = file.webkitRelativePath || file.name;
    return own.endsWith(`/${path}`) || (own.includes('/') && `/${path}`.endsWith(`/${own}`));
  }) || null;
}

class Mixer {
  constructor(audio) {
    this.context = new AudioContext();
    this.splitter = this.context.createChannelSplitter(2);
    this.merger = this.context.createChannelMerger(2);
    this.context.createMediaElementSource(audio).connect(this.splitter);
    this.merger.connect(this.context.destination);
  }

  play(voice) {
    this.context.resume();
    this.splitter.disconnect();
    for (const [from, to] of CHANNELS[voice]) this.splitter.connect(this.merger, from, to);
  }
}

// The choice of a voice, and what asks for the run's folder first where it must; `step` takes the next voice.
function buildVoices(item, player) {
  const select = h('select', { onchange: () => player.hear(select.value) }, VOICES.map(([value, text]) => h('option', { value }, text)));
  const label = h('label', {}, 'Voices ', select);
  const told = h('span', { role: 'status' });
  const files = h('input', { type: 'file', webkitdirectory: true, 'aria-label': 'The folder of this run', onchange: () => {
    chosen = Array.from(files.files);
    if (useChosen()) select.focus(); else told.textContent = 'That folder does not hold this recording.';
  } });
  const asked = h('p', { class: 'notice', hidden: true }, 'Opened from disk, a page may play a recording but not part its voices. ',
    'Choose the run’s folder, once for all items: it is read in this page and sent nowhere. ',
    'Or write the page with --voicebench-html-embed. ', files, ' ', told);
  const ask = h('button', { type: 'button', 'aria-expanded': 'false', onclick: () => {
    asked.hidden = !asked.hidden;
    ask.setAttribute('aria-expanded', String(!asked.hidden));
    if (!asked.hidden) files.focus();
  } }, 'One voice alone …');
  const allow = (allowed) => { label.hidden = !allowed; ask.hidden = allowed; };
  const useChosen = () => {
    const file = chosenFile(item.audio);
    if (file === null) return false;
    player.use(URL.createObjectURL(file));
    allow(true);
    asked.hidden = true;
    return true;
  };
  const step = () => {
    if (label.hidden) { ask.click(); return; }
    select.selectedIndex = (select.selectedIndex + 1) % VOICES.length;
    player.hear(select.value);
  };
  allow(readable(item.audio));
  if (label.hidden) useChosen();
  return { controls: [label, ask], asked, step };
}
