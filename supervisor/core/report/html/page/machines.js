// Checkpoints and copies, the nodes' places, and their health.

function checkpointSection() {
  const withCopies = data.nodes.filter((node) => node.keeper || node.copies);
  if (!data.checkpoints && withCopies.length === 0) return null;
  const copies = withCopies.length === 0 ? null : h("table", null,
    h("thead", null, h("tr", null, h("th", {scope: "col"}, "Node"),
      h("th", {scope: "col"}, "Its copies are kept by"),
      h("th", {scope: "col"}, "Copies, as last reported"))),
    h("tbody", null, withCopies.map((node) => h("tr", null, h("th", {scope: "row"}, node.name),
      h("td", null, node.keeper || "–"), h("td", null, node.copies || "–")))));
  return section("checkpoints", "Checkpoints and copies", null,
    data.checkpoints ? h("p", {class: "lead"}, data.checkpoints) : null,
    list(data.checkpoint_notes), copies ? h("h3", null, "Copies in memory") : null, copies);
}

const rankWords = (node) => node.ranks === 0 ? "" : node.ranks === 1 ? `rank ${node.first}`
  : `ranks ${node.first}–${node.first + node.ranks - 1}`;

function tile(node, failed) {
  const cells = [];
  for (let i = 0; i < Math.min(node.ranks, 16); ++i) {
    const bad = failed.has(node.first + i);
    cells.push(svg("rect", {x: 11 * (i % 8), y: 11 * Math.floor(i / 8), width: 9, height: 9, rx: 2,
      class: bad ? "rank bad" : "rank"}));
    if (bad) {
      cells.push(svg("path", {class: "rank-cross",
        d: `M${11 * (i % 8) + 2} ${11 * Math.floor(i / 8) + 2}l5 5m0 -5l-5 5`}));
    }
  }
  const rows = Math.max(1, Math.ceil(Math.min(node.ranks, 16) / 8));
  return h("li", {class: `tile ${node.role.replaceAll(" ", "-")}`,
    title: `${node.name}: ${node.role}, ${rankWords(node) || "no rank"}`},
  h("b", null, node.name),
  h("small", null, node.role === "in the group" ? rankWords(node) : node.role),
  cells.length > 0 ? svg("svg", {width: 87, height: 11 * rows, viewBox: `0 0 87 ${11 * rows}`,
    "aria-hidden": "true"}, cells) : null);
}

function placementSection() {
  if (data.nodes.length < 2) return null;
  const failed = new Map();
  for (const incident of data.incidents) {
    if (incident.rank === null) continue;
    if (!failed.has(incident.node)) failed.set(incident.node, new Set());
    failed.get(incident.node).add(incident.rank);
  }
  const members = data.nodes.filter((node) => node.role === "in the group")
    .sort((a, b) => a.first - b.first);
  const others = data.nodes.filter((node) => node.role !== "in the group");
  const tiles = [...members, ...others].map((node) =>
    tile(node, failed.get(node.name) || new Set()));
  return section("placement", "Placement",
    data.placement || "Nodes in the order of their ranks, then the others. A crossed square is a "
      + "rank that failed first in an incident.", h("ol", {class: "tiles"}, tiles));
}

function healthCell(node) {
  const lines = [...node.losses.map((one) => ({...one, words: `agent lost: ${one.words}`})),
    ...node.health].sort((a, b) => a.at - b.at);
  if (lines.length === 0) return h("td", null, h("span", {class: "quiet"}, "nothing reported"));
  return h("td", null, h("ul", {class: "health"}, lines.map((one) => h("li", null,
    h("span", {class: one.over ? "chip good" : "chip bad"}, one.over ? "over" : "trouble"), " ",
    `${duration(one.at)}: ${one.words}`))));
}

function machineSection() {
  if (data.nodes.length === 0) return null;
  const isWorth = (node) => node.failures + node.health.length + node.losses.length > 0 ||
    node.offender || node.role === "evicted" || node.role === "lost";
  const body = h("tbody");
  const ordered = [...data.nodes].sort((a, b) => isWorth(b) - isWorth(a));
  const row = (node) => h("tr", null,
    h("th", {scope: "row"}, node.name,
      node.offender ? h("small", null, "failed earlier runs") : null),
    h("td", {class: "slim"}, node.role), h("td", {class: "slim"}, rankWords(node) || "–"),
    h("td", {class: "figure"}, node.failures || "–"), healthCell(node));
  const fill = (count) => body.replaceChildren(...ordered.slice(0, count).map(row));
  fill(64);
  const more = ordered.length <= 64 ? null : h("button", {type: "button", onclick: () => {
    fill(ordered.length);
    more.hidden = true;
  }}, `Show all ${ordered.length} machines`);
  const head = h("thead", null, h("tr", null, h("th", {scope: "col"}, "Machine"),
    h("th", {scope: "col"}, "Role"), h("th", {scope: "col"}, "Ranks"),
    h("th", {scope: "col", class: "figure"}, "Failures"), h("th", {scope: "col"}, "Reported")));
  return section("machines", "Machines and their health", null,
    scroller("machines", h("table", {class: "machines"}, head, body)), more);
}
