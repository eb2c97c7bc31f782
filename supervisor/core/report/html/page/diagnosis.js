// A verdict: which rank waits for which, and the evidence.

const cellsMax = 1024;  // of one picture of ranks

// "0–3, 7"
function ranges(ranks, partsMax) {
  const parts = [];
  for (const rank of ranks) {
    const last = parts[parts.length - 1];
    if (last && last[1] + 1 === rank) last[1] = rank;
    else parts.push([rank, rank]);
  }
  const words = parts.slice(0, partsMax).map(([a, b]) => a === b ? String(a) : `${a}–${b}`);
  return words.join(", ") + (parts.length > partsMax ? ", …" : "");
}

function rankGrid(ranks) {
  const side = ranks.length > 64 ? 9 : 16, step = side + 3;
  const columns = Math.min(ranks.length, ranks.length > 64 ? 32 : 8);
  const cells = ranks.slice(0, cellsMax);
  const rows = Math.ceil(cells.length / columns);
  const picture = svg("svg", {class: "ranks", width: columns * step, height: rows * step,
    viewBox: `0 0 ${columns * step} ${rows * step}`, "aria-hidden": "true"},
  cells.map((rank, i) => svg("rect", {class: "wait", x: step * (i % columns),
    y: step * Math.floor(i / columns), width: side, height: side, rx: 2, "data-rank": rank})));
  picture.onpointermove = (event) => {
    const rank = event.target.getAttribute("data-rank");
    showTip(rank === null ? null : [`rank ${rank} waits`], event.clientX, event.clientY);
  };
  picture.onpointerleave = () => showTip(null);
  return picture;
}

const arrow = (words) => h("div", {class: "arrow"},
  h("small", null, words),
  svg("svg", {viewBox: "0 0 100 24", "aria-hidden": "true"},
    svg("path", {class: "shaft", d: "M2 12H88"}), svg("path", {class: "tip-of", d: "M86 4L98 12L86 20Z"})));

function culpritBoxes() {
  const shown = data.culprits.slice(0, 12);
  const nodeOf = (i) => data.nodes.length === data.culprits.length ? data.nodes[i]
    : data.nodes.length === 1 ? data.nodes[0] : "";
  const boxes = shown.map((rank, i) => h("div", {class: "culprit"}, h("b", null, `rank ${rank}`),
    nodeOf(i) ? h("span", null, ` on ${nodeOf(i)}`) : null,
    data.place ? h("small", null, `in ${data.place}`) : null));
  if (shown.length < data.culprits.length) {
    boxes.push(h("p", {class: "quiet"}, `and ${data.culprits.length - shown.length} more: `
      + ranges(data.culprits.slice(shown.length), 20)));
  }
  for (const [from, to] of data.links.slice(0, 12)) {
    boxes.push(h("div", {class: "culprit link"}, h("b", null, `link from rank ${from} to rank ${to}`)));
  }
  if (boxes.length === 0 && data.nodes.length > 0) {
    boxes.push(h("div", {class: "culprit"}, h("b", null, data.nodes.join(", "))));
  }
  return boxes.length > 0 ? boxes
    : [h("div", {class: "culprit unknown"}, h("b", null, "unknown"))];
}

function waitSection() {
  if (data.kind === "" || data.kind === "busy") return null;
  const waiting = data.victims.length === 0 ? null : h("div", {class: "waiting"},
    h("b", null, `${counted(data.victims.length, "rank")} ${data.victims.length === 1 ? "waits" : "wait"}`),
    data.operation ? h("span", null, ` in ${data.operation}`) : null, rankGrid(data.victims),
    h("small", null, `${data.victims.length === 1 ? "rank" : "ranks"} ${ranges(data.victims, 24)}`
      + (data.victims.length > cellsMax ? `; the picture shows the first ${cellsMax}` : "")));
  const have = data.victims.length === 1 ? "has" : "have";
  const words = data.kind === "slow" ? "slowed down by"
    : data.lasting ? `${have} waited ${data.lasting} for` : "waiting for";
  return section("waits", "Which rank waits for which", null, h("div", {class: waiting ? "waits" : ""},
    waiting, waiting ? arrow(words) : null,
    h("div", {class: "culprits"}, culpritBoxes())));
}

const lineSection = (id, title, lines) => lines.length === 0 ? null
  : section(id, title, null, h("ul", null, lines.map((line) => h("li", null, line))));

function verdictHeader() {
  const states = {hang: "The job hangs", slow: "The job is slow", busy: "The job is busy"};
  const fact = (label, value) => value ? h("div", null, h("dt", null, label),
    h("dd", null, value)) : null;
  return h("header", null,
    h("p", {class: `state ${data.kind === "hang" ? "failed" : data.kind === "" ? "succeeded" : ""}`},
      states[data.kind] || "No rank is blocked"),
    h("h1", {class: "sentence"}, data.title),
    h("dl", {class: "facts"}, fact("Run", data.about), fact("Rule", data.rule),
      fact("Confidence", data.confidence), fact("For", data.lasting)));
}

append(document.getElementById("page"), [verdictHeader(), waitSection(),
  lineSection("evidence", "Evidence", data.evidence),
  lineSection("otherwise", "Otherwise it would be", data.runner_up ? [data.runner_up] : []),
  lineSection("notes", "Also", data.notes),
  h("footer", null, h("p", null, "Made by robustrun diagnose at one moment. The page loads nothing."))]);
document.body.append(tip);
