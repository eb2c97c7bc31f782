// Attempts and phases over time: the whole run, then a row for each node. Rows are drawn as one
// path for each kind, so that thousands of bars stay quick; what is under the pointer is looked up.

const trainingKinds = ["productive", "stalled", "detecting", "localizing", "restarting",
  "recomputing", "running"];
const nodeRowsFirst = 64;
const minimumView = 5;  // ms

// Where each stretch of the run's time lies: for cutting out those of a node.
const stretches = data.timeline.map(([kind, from, to]) => ({kind: data.spent[kind], from, to}));

function stretchesWithin(from, to) {
  let low = 0, high = stretches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stretches[middle].to <= from) low = middle + 1; else high = middle;
  }
  const out = [];
  for (let i = low; i < stretches.length && stretches[i].from < to; ++i) {
    const {kind, from: begin, to: end} = stretches[i];
    out.push({kind, from: Math.max(begin, from), to: Math.min(end, to)});
  }
  return out;
}

const attemptSpans = new Map(data.attempts.map(([n, from, to]) => [n, {from, to}]));

// A node's part in each attempt. Unknown times are -1.
function partsOf(node) {
  return node.parts.filter((row) => attemptSpans.has(row[0])).map((row) => {
    const [attempt, started, firstStep, gone, first = node.first, ranks = node.ranks] = row;
    const span = attemptSpans.get(attempt);
    const at = (time) => time === null ? -1 : Math.max(0, span.from + time);
    return {attempt, span, first, ranks, started: at(started), firstStep: at(firstStep),
      gone: at(gone)};
  });
}

function stagesOf(node) {
  const out = [];
  for (const [attempt, ...rest] of node.stages) {
    const start = attemptSpans.has(attempt) ? attemptSpans.get(attempt).from : 0;
    for (let i = 0; i < rest.length; i += 5) {
      const [stage, from, took, finished, slowest] = rest.slice(i, i + 5);
      out.push({attempt, stage, from: start + from, took, finished, slowest});
    }
  }
  return out;
}

// The bars of a node, in order of drawing.
function nodeBars(node) {
  const bars = [];
  for (const [stage, from, took] of node.joins) {
    bars.push({kind: `stage${stage}`, words: data.stages[stage], from, to: from + took});
  }
  const staged = new Map();
  for (const {attempt, stage, from, took, finished, slowest} of stagesOf(node)) {
    if (!staged.has(attempt)) staged.set(attempt, []);
    const more = (finished ? "" : ", not finished")
      + (slowest >= 0 ? `, slowest: rank ${slowest}` : "");
    staged.get(attempt).push({kind: `stage${stage}`, words: data.stages[stage], more,
      from, to: from + took});
  }
  for (const {attempt, span, first, ranks, started, firstStep, gone} of partsOf(node)) {
    const words = `attempt ${attempt}` + (ranks > 1 ? `, ranks ${first}–${first + ranks - 1}`
      : ranks === 1 ? `, rank ${first}` : "");
    const end = gone >= 0 ? gone : span.to;
    const begins = started >= 0 ? started : span.from;
    bars.push({kind: "present", words, from: Math.min(begins, span.from), to: end, quiet: true});
    const own = staged.get(attempt) || [];
    const step = firstStep >= 0 ? firstStep : begins;
    const training = stretchesWithin(step, end).filter((one) => trainingKinds.includes(one.kind));
    for (const one of training) {
      // "Restarting" around the node's first step: it waits for the others. Later: it is stopped.
      const stops = one.kind === "restarting";
      if (stops && one.from <= step) continue;
      bars.push({kind: stops ? "stopping" : one.kind, words: stops ? "stopping" : one.kind,
        more: `, ${words}`, from: one.from, to: one.to});
    }
    if (own.length === 0 && started >= 0 && firstStep > started) {
      bars.push({kind: "starting", words: "starting", more: `, ${words}`,
        from: started, to: firstStep});
    }
    for (const one of own) bars.push({...one, more: `${one.more}, ${words}`});
  }
  return bars;
}

function ganttRows(all) {
  const rows = [{name: "Whole run", height: 26, strong: true,
    bars: stretches.map((one) => ({...one, words: one.kind}))}];
  rows.push({name: "Attempts", height: 18, bars: data.attempts.map(([n, from, to]) =>
    ({kind: n % 2 ? "odd" : "even", words: `attempt ${n}`, label: String(n), from, to}))});
  const nodes = data.nodes.filter((node) => node.parts.length + node.joins.length > 0);
  const ordered = [...nodes].sort((a, b) => (b.failures > 0) - (a.failures > 0));
  const shown = all || nodes.length <= nodeRowsFirst ? nodes : ordered.slice(0, nodeRowsFirst);
  const height = shown.length > 24 ? 12 : 18;
  for (const node of nodes.filter((one) => shown.includes(one))) {
    rows.push({name: node.name, node, height, bars: nodeBars(node)});
  }
  return {rows, hidden: nodes.length - shown.length};
}

class Gantt {
  constructor() {
    this.all = false;
    this.from = 0;
    this.to = Math.max(1, data.duration);
    this.width = 0;
    this.host = h("div", {class: "gantt", tabindex: "0", role: "application",
      "aria-label": "Attempts and phases over time. Plus and minus zoom, arrows move, 0 shows all, "
        + "n and p go to the next and the previous incident.",
      onkeydown: (event) => this.onKey(event),
      onwheel: (event) => this.onWheel(event),
      onpointerdown: (event) => this.onGrab(event),
      onpointermove: (event) => this.onMove(event),
      onpointerup: () => { this.grabbed = null; },
      onpointerleave: () => { this.grabbed = null; showTip(null); }});
    this.range = h("output", {class: "range", "aria-live": "polite"});
    this.more = h("button", {type: "button", hidden: true, onclick: () => this.showAll()});
    this.load();
    onWidth(this.host, (width) => { this.width = width; this.draw(); });
  }

  load() {
    const {rows, hidden} = ganttRows(this.all);
    this.rows = rows;
    this.more.hidden = hidden === 0;
    this.more.textContent = `Show ${hidden} more nodes`;
  }

  showAll() {
    this.all = true;
    this.load();
    this.draw();
  }

  toolbar() {
    const button = (words, title, act) => h("button", {type: "button", title, onclick: act,
      "aria-label": words.length === 1 ? title : null}, words);
    return h("div", {class: "tools"},
      button("−", "Zoom out (−)", () => this.zoom(2)),
      button("+", "Zoom in (+)", () => this.zoom(0.5)),
      button("←", "Earlier (left arrow)", () => this.pan(-0.25)),
      button("→", "Later (right arrow)", () => this.pan(0.25)),
      button("All", "The whole run (0)", () => this.view(0, data.duration)),
      data.incidents.length > 0
        ? button("Next incident", "Next incident (n)", () => this.jump(1)) : null,
      this.range);
  }

  get left() { return Math.min(150, Math.max(84, Math.floor(this.width * 0.16))); }
  get scale() { return (this.width - this.left - 1) / (this.to - this.from); }
  x(at) { return this.left + (at - this.from) * this.scale; }
  at(x) { return this.from + (x - this.left) / this.scale; }

  view(from, to) {
    const whole = Math.max(1, data.duration);
    const span = Math.min(whole, Math.max(Math.min(minimumView, whole), to - from));
    this.from = Math.min(Math.max(0, from), whole - span);
    this.to = this.from + span;
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const share = (around - this.from) / (this.to - this.from);
    const span = (this.to - this.from) * factor;
    this.view(around - share * span, around + (1 - share) * span);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.view(this.from + by, this.to + by);
  }

  jump(direction) {
    const middle = (this.from + this.to) / 2;
    const times = data.incidents.map((one) => one.at);
    const whole = this.to - this.from > 0.999 * data.duration;
    const ahead = times.filter((at) => direction * (at - middle) > 1e-6 * data.duration);
    const at = whole ? (direction > 0 ? times[0] : times[times.length - 1])
      : direction > 0 ? Math.min(...ahead) : Math.max(...ahead);
    if (at === undefined || !isFinite(at)) return;
    const incident = data.incidents.find((one) => one.at === at);
    const span = whole ? Math.max(4 * incident.cost_ms, data.duration / 50) : this.to - this.from;
    this.view(at - span / 2, at + span / 2);
  }

  onKey(event) {
    const acts = {"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      0: () => this.view(0, data.duration), Home: () => this.view(0, data.duration),
      n: () => this.jump(1), p: () => this.jump(-1)};
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  // The wheel scrolls the page unless the picture was chosen: by a click, Tab, or Ctrl.
  onWheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.host) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.pan(event.deltaX / 1000);
    const x = event.clientX - this.host.getBoundingClientRect().left;
    this.zoom(Math.exp(event.deltaY / 400), this.at(Math.max(this.left, x)));
  }

  onGrab(event) {
    this.grabbed = {x: event.clientX, from: this.from, to: this.to};
  }

  onMove(event) {
    if (this.grabbed && event.buttons === 1) {
      const by = (this.grabbed.x - event.clientX) / this.scale;
      this.view(this.grabbed.from + by, this.grabbed.to + by);
      return;
    }
    const box = this.host.getBoundingClientRect();
    showTip(this.describe(event.clientX - box.left, event.clientY - box.top),
      event.clientX, event.clientY);
  }

  describe(x, y) {
    if (x < this.left) return null;
    const at = this.at(x);
    const slack = 3 / this.scale;
    const incident = data.incidents.find((one) => Math.abs(one.at - at) < slack);
    const row = this.rows.find((one) => y >= one.y && y < one.y + one.height);
    const hits = row ? row.bars.filter((one) => at >= one.from && at <= one.to) : [];
    const hit = hits.filter((one) => !one.quiet).pop() || hits.pop();
    const lines = [];
    if (incident) lines.push(`Incident ${data.incidents.indexOf(incident) + 1}: ${incident.what}`);
    if (hit) {
      lines.push(`${row.name}: ${hit.words}${hit.more || ""}`,
        `${duration(hit.to - hit.from)}, from ${duration(hit.from)} to ${duration(hit.to)}`);
    }
    return lines.length > 0 ? lines : null;
  }

  draw() {
    if (this.width === 0) return;
    const axis = 26;
    let y = axis;
    for (const row of this.rows) {
      row.y = y;
      y += row.height + (row.height > 14 ? 6 : 3) + (row.name === "Attempts" ? 6 : 0);
    }
    const height = y + 4;
    const picture = svg("svg", {width: this.width, height, viewBox: `0 0 ${this.width} ${height}`,
      "aria-hidden": "true"});
    for (const tick of timeTicks(this.from, this.to, (this.width - this.left) / 90)) {
      const x = this.x(tick.at).toFixed(1);
      picture.append(svg("path", {class: "grid", d: `M${x} ${axis - 6} V${height - 4}`}));
      const last = x > this.width - 40;
      picture.append(svg("text", {class: "axis", x: last ? this.width : x, y: 12,
        "text-anchor": last ? "end" : x - this.left < 24 ? "start" : "middle"}, tick.words));
    }
    for (const row of this.rows) this.drawRow(picture, row);
    this.drawIncidents(picture, axis, height);
    this.host.replaceChildren(picture);
    this.range.textContent = `${duration(this.from)} – ${duration(this.to)}`;
  }

  drawRow(picture, row) {
    const letters = Math.max(6, Math.floor((this.left - 8) / 6.4));
    const name = row.name.length > letters ? row.name.slice(0, letters - 1) + "…" : row.name;
    picture.append(svg("text", {class: row.strong ? "row strong" : "row", x: this.left - 8,
      y: row.y + row.height / 2 + 4, "text-anchor": "end"}, name, svg("title", null, row.name)));
    const paths = new Map();
    const labels = [];
    const reached = new Map();
    for (const one of row.bars) {
      if (one.to < this.from || one.from > this.to) continue;
      const x = Math.max(this.left, this.x(one.from));
      const end = Math.min(this.width, this.x(one.to));
      const width = Math.max(0.75, end - x);
      if (width < 1 && x + width < (reached.get(one.kind) || 0) + 0.75) continue;
      reached.set(one.kind, x + width);
      const inset = one.kind === "present" ? row.height / 2 - 1 : 0;
      const tall = row.height - 2 * inset;
      const shape = `M${x.toFixed(1)} ${row.y + inset}h${width.toFixed(1)}v${tall}`
        + `h-${width.toFixed(1)}z`;
      paths.set(one.kind, (paths.get(one.kind) || "") + shape);
      const isPlain = one.quiet || (row.node && one.kind === "productive");
      const label = one.label || (isPlain ? "" : one.words);
      if (row.height > 14 && label.length * 6.6 + 10 < width) {
        labels.push(svg("text", {class: `label on-${one.kind}`, x: x + 6,
          y: row.y + row.height / 2 + 4}, label));
      }
    }
    for (const [kind, d] of paths) {
      picture.append(svg("path", {class: `k-${kind}`, d}));
      if (kind === "recomputing") picture.append(svg("path", {class: "hatched", d}));
    }
    picture.append(...labels);
  }

  drawIncidents(picture, axis, height) {
    const byName = new Map(this.rows.filter((row) => row.node).map((row) => [row.name, row]));
    let free = -100;
    data.incidents.forEach((incident, i) => {
      if (incident.at < this.from || incident.at > this.to) return;
      const x = this.x(incident.at);
      if (x > free - 6) {
        picture.append(svg("path", {class: "incident",
          d: `M${x.toFixed(1)} ${axis - 4}V${height - 4}`}));
      }
      if (x > free) {
        const words = String(i + 1);
        const wide = 8 + words.length * 6.5;
        picture.append(svg("rect", {class: "flag", x: (x - wide / 2).toFixed(1), y: 14, width: wide,
          height: 12, rx: 3}), svg("text", {class: "flag-text", x: x.toFixed(1), y: 23.5,
          "text-anchor": "middle"}, words));
        free = x + wide + 2;
      }
      const row = byName.get(incident.node);
      if (!row) return;
      const y = row.y + row.height / 2;
      const a = Math.min(4, row.height / 3);
      picture.append(svg("path", {class: "cross",
        d: `M${x - a} ${y - a}l${2 * a} ${2 * a}m0 ${-2 * a}l${-2 * a} ${2 * a}`}));
    });
  }
}

function legend() {
  const used = new Set(data.timeline.map(([kind]) => data.spent[kind]));
  const items = data.spent.filter((kind) => used.has(kind)).map((kind) => [kind, kind]);
  const stages = new Set(data.nodes.flatMap((node) => [...node.joins.map((row) => row[0]),
    ...stagesOf(node).map((one) => one.stage)]));
  const starts = data.stages.map((words, i) => [`stage${i}`, words])
    .filter((_, i) => stages.has(i));
  if (data.nodes.some((node) => node.parts.some((row) => row[3] !== null))) {
    items.push(["stopping", "stopping"]);
  }
  const list = (title, entries) => entries.length === 0 ? null : h("p", {class: "legend"},
    h("b", null, title), entries.map(([kind, words]) => h("span", null, swatch(kind), " ", words)));
  return [list("Time", items), list("Stages of a start", starts)];
}

function ganttSection() {
  if (data.duration <= 0) return null;
  const gantt = new Gantt();
  return section("timeline", "Attempts and phases",
    "The first row adds up to the wall time. Keys: + and − zoom, arrows move, 0 shows all, n and "
      + "p go from incident to incident; the wheel zooms once the picture was clicked.",
    gantt.toolbar(), gantt.host, gantt.more, legend());
}
