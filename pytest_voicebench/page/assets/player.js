// Where we are in an item: the recording where there is one, else a position that can be moved.

class Player {
  constructor(item) {
    this.duration = item.evidence ? Math.max(item.evidence.duration, 0.1) : 0.1;
    this.audio = item.audio ? h('audio', { preload: 'metadata', src: item.audio }) : null;
    this.position = 0;
    this.listeners = [];
    this.frame = null;
    this.mixer = null;
    if (this.audio) {
      for (const name of ['play', 'pause', 'ended', 'seeked', 'error']) {
        this.audio.addEventListener(name, () => this.tell());
      }
      this.audio.addEventListener('play', () => this.follow());
    }
  }

  get time() {
    return this.audio && this.audio.readyState > 0 ? this.audio.currentTime : this.position;
  }

  get playing() {
    return this.audio !== null && !this.audio.paused && !this.audio.ended;
  }

  get broken() {
    return this.audio !== null && this.audio.error !== null;
  }

  seek(seconds) {
    this.position = Math.min(Math.max(seconds, 0), this.duration);
    if (this.audio) {
      if (this.audio.readyState > 0) this.audio.currentTime = this.position;
      else {
        const wanted = this.position;
        this.audio.addEventListener('loadedmetadata', () => { this.audio.currentTime = wanted; }, { once: true });
      }
    }
    this.tell();
  }

  toggle() {
    if (!this.audio) return;
    if (this.playing) this.audio.pause();
    else this.audio.play().catch(() => this.tell());
  }

  set speed(factor) {
    if (this.audio) this.audio.defaultPlaybackRate = this.audio.playbackRate = factor;  // the first outlives a change of file
  }

  // One voice, or both; until one is asked for, the browser plays the recording as it is.
  hear(voice) {
    if (this.mixer === null && voice === 'both') return;
    this.mixer ??= new Mixer(this.audio);
    this.mixer.play(voice);
  }

  // The same recording from another address, from where we are.
  use(address) {
    const [now, playing] = [this.time, this.playing];
    this.audio.src = address;
    this.seek(now);
    if (playing) this.toggle();
  }

  follow() {
    const step = () => {
      this.tell();
      this.frame = this.playing ? requestAnimationFrame(step) : null;
    };
    if (this.frame === null) this.frame = requestAnimationFrame(step);
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  close() {
    this.listeners = [];
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    if (this.audio) {
      this.audio.pause();
      if (this.audio.src.startsWith('blob:')) URL.revokeObjectURL(this.audio.src);
      this.audio.removeAttribute('src');
      if (this.mixer) this.mixer.context.close();
    }
  }
}
