"use strict";
// Elements, texts and numbers. Text from the run is only ever set as a text node.

const data = JSON.parse(document.getElementById("data").textContent);

function append(node, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === "") continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

const h = (tag, attributes, ...children) =>
  append(set(document.createElement(tag), attributes), children);

const svg = (tag, attributes, ...children) =>
  append(set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes), children);

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// As base::duration_words.
function duration(ms) {
  if (ms === 0) return "0 s";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 59995) return `${(ms / 1000).toFixed(2)} s`;
  const whole = Math.round(ms / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.floor((whole + 30) / 60);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

const number = (value) =>
  Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-4)
    ? value.toExponential(3) : String(Number(value.toPrecision(5)));

// Ticks of a time axis: short, in one unit. Times in ms.
function timeTicks(from, to, count) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3,
    300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 14400e3, 21600e3, 43200e3, 86400e3, 172800e3,
    432000e3, 864000e3];
  const wanted = (to - from) / Math.max(1, count);
  const step = steps.find((one) => one >= wanted) || Math.ceil(wanted / 864000e3) * 864000e3;
  const unit = step < 1e3 && to < 10e3 ? ["ms", 1] : step < 60e3 && to < 600e3 ? ["s", 1e3]
    : step < 3600e3 && to < 36000e3 ? ["min", 60e3] : step < 86400e3 && to < 400 * 3600e3
      ? ["h", 3600e3] : ["d", 86400e3];
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) {
    ticks.push({at: i * step, words: `${Number((i * step / unit[1]).toFixed(3))} ${unit[0]}`});
  }
  return ticks;
}

function valueTicks(from, to, count) {
  const wanted = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= wanted * 0.8);
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-9) + step * 1e-9; ++i) {
    ticks.push(i * step);
  }
  return ticks;
}

// A box beside the pointer. `lines`: texts, the first one is bold; null hides it.
const tip = h("div", {class: "tip", role: "status", hidden: true});
function showTip(lines, x, y) {
  tip.hidden = lines === null;
  if (lines === null) return;
  tip.replaceChildren(...lines.map((line, i) => h("div", {class: i === 0 ? "first" : null}, line)));
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, document.documentElement.clientWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

// Draws into `host` now, and again whenever its width changes.
function onWidth(host, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(host.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw(now);
  }).observe(host);
}

const section = (id, title, note, ...children) =>
  h("section", {id, "aria-labelledby": `${id}-title`}, h("h2", {id: `${id}-title`}, title),
    note ? h("p", {class: "note"}, note) : null, ...children);

// What may be wider than the page: it scrolls, also with the keys. `label` says what is in it.
const scroller = (label, ...children) =>
  h("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": label}, ...children);

const swatch = (kind) => svg("svg", {class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true"},
  svg("rect", {width: 12, height: 12, rx: 2, class: `k-${kind}`}),
  kind === "recomputing" ? svg("path", {class: "hatch", d: "M0 12 L12 0 M-3 9 L9 -3 M3 15 L15 3"})
    : null);
