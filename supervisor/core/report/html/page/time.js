// The summary, and where the time went.

function summary() {
  const states = {succeeded: "Succeeded", failed: "Failed", stopped: "Stopped",
    unfinished: "No end yet"};
  const facts = data.facts.map((fact) =>
    h("div", null, h("dt", null, fact.label), h("dd", null, fact.value)));
  return h("header", null,
    h("p", {class: `state ${data.outcome}`}, states[data.outcome] || data.outcome),
    h("h1", null, data.title),
    h("div", {class: "lines"}, data.summary.map((line) => h("p", null, line))),
    h("dl", {class: "facts"}, facts));
}

const kindOf = (share) => data.spent[share.kind];
const isWork = (share) => ["productive", "running"].includes(kindOf(share));

const meaning = {
  starting: "until the first training step",
  productive: "training that did not have to be done again",
  stalled: "ranks waited for a rank",
  detecting: "something had failed, unnoticed",
  localizing: "the failure was known, its answer not yet decided",
  restarting: "until the next first step",
  recomputing: "steps done again",
  ending: "after the last decision",
  running: "the script's own code; it reports no steps",
};

function bar(kind, from, width, words) {
  const node = h("span", {class: `bar f-${kind}`, title: words});
  node.style.left = `${100 * from}%`;
  node.style.width = `${100 * width}%`;
  return node;
}

function stackedBar() {
  const host = h("div", {class: "bars whole", role: "img",
    "aria-label": data.shares.map((one) =>
      `${kindOf(one)} ${one.percent.toFixed(1)} %`).join(", ")});
  let at = 0;
  for (const share of [...data.shares.filter(isWork), ...data.shares.filter((s) => !isWork(s))]) {
    const width = data.duration > 0 ? share.ms / data.duration : 0;
    host.append(bar(kindOf(share), at, width, `${kindOf(share)}: ${share.words}`));
    at += width;
  }
  return host;
}

function shareRow(share, from, whole) {
  const kind = kindOf(share);
  const name = h("th", {scope: "row"}, swatch(kind), " ", h("b", null, kind),
    h("small", null, meaning[kind]));
  return h("tr", null, name,
    h("td", {class: "wide"},
      h("div", {class: "bars"}, bar(kind, from / whole, share.ms / whole, ""))),
    h("td", {class: "figure"}, share.words),
    h("td", {class: "figure"}, `${share.percent.toFixed(1)} %`));
}

function waterfall() {
  const work = data.shares.filter(isWork);
  const lost = data.shares.filter((share) => !isWork(share));
  const sum = (list) => list.reduce((all, share) => all + share.ms, 0);
  const percent = (ms) => `${(data.duration > 0 ? 100 * ms / data.duration : 0).toFixed(1)} %`;
  const total = (words, ms, css) => h("tr", {class: css}, h("th", {scope: "row"}, words),
    h("td", {class: "wide"}), h("td", {class: "figure"}, duration(ms)),
    h("td", {class: "figure"}, percent(ms)));
  const rows = [];
  let at = 0;
  for (const share of lost) {
    rows.push(shareRow(share, at, sum(lost)));
    at += share.ms;
  }
  rows.push(total("All lost time", sum(lost), "sum"));
  for (const share of work) rows.push(shareRow(share, 0, data.duration));
  rows.push(h("tr", {class: "sum"}, h("th", {scope: "row"}, "Wall time"), h("td", {class: "wide"}),
    h("td", {class: "figure"}, data.duration_words), h("td", {class: "figure"}, "100.0 %")));
  return h("table", {class: "waterfall"},
    h("thead", null, h("tr", null, h("th", {scope: "col"}, "Spent on"),
      h("th", {scope: "col", class: "wide"}, "Lost time, one cause after the other"),
      h("th", {scope: "col", class: "figure"}, "Time"),
      h("th", {scope: "col", class: "figure"}, "Of all"))),
    h("tbody", null, rows));
}

function causes() {
  const dear = data.causes.filter((cause) => cause.ms > 0);
  if (dear.length === 0) return null;
  return h("div", null, h("h3", null, "Which failures cost it"),
    h("table", {class: "causes"},
      h("thead", null, h("tr", null, h("th", {scope: "col"}, "Failure"),
        h("th", {scope: "col", class: "wide"}, "Compared"),
        h("th", {scope: "col", class: "figure"}, "Incidents"),
        h("th", {scope: "col", class: "figure"}, "Time"))),
      h("tbody", null, dear.map((cause) => h("tr", null, h("th", {scope: "row"}, cause.label),
        h("td", {class: "wide"},
          h("div", {class: "bars"}, bar("restarting", 0, cause.ms / dear[0].ms, ""))),
        h("td", {class: "figure"}, cause.incidents), h("td", {class: "figure"}, cause.words))))));
}

function timeSection() {
  if (data.shares.length === 0) return null;
  return section("time", "Where the time went", null, stackedBar(), waterfall(), causes());
}
