// A placement: the tree of switches with the nodes in it, what crosses each switch, and a table.

const ranksOf = (node) => node.slots === 0 ? "" : node.slots === 1 ? `rank ${node.first}`
  : `ranks ${node.first}–${node.first + node.slots - 1}`;
const isSmall = data.nodes.length <= 128;
const byPlace = [];
for (const node of data.nodes) if (node.place !== null) byPlace[node.place] = node;

// By kind: the first group of each place.
const groupOf = data.kinds.map((kind) => {
  const groups = [];
  kind.members.forEach((places, group) => {
    for (const place of places) if (groups[place] === undefined) groups[place] = group;
  });
  return groups;
});
let shown = 0;  // index of the kind that colours the nodes
const boxes = [];  // by node

// Hues a golden angle apart: neighbours differ well. All are light enough for dark text.
const colour = (group) => `hsl(${(group * 137.508 + 205) % 360} 48% ${group % 2 ? 76 : 66}%)`;

function nodeBox(node) {
  const box = h("div", {class: `seat ${node.use}${isSmall ? " named" : ""}`});
  if (isSmall) append(box, [h("b", null, node.name), h("small", null, ranksOf(node) || node.use)]);
  box.onpointermove = (event) => {
    const lines = [node.name, ranksOf(node) || node.use];
    data.kinds.forEach((kind, i) => {
      const group = node.place === null ? undefined : groupOf[i][node.place];
      if (group !== undefined) {
        lines.push(`${kind.name} group ${group}: on ${counted(kind.members[group].length, "node")}`);
      }
    });
    showTip(lines, event.clientX, event.clientY);
  };
  box.onpointerenter = () => mark(node);
  box.onpointerleave = () => { showTip(null); mark(null); };
  boxes[data.nodes.indexOf(node)] = box;
  return box;
}

// Fades all nodes but those of this node's group.
function mark(node) {
  const groups = groupOf[shown];
  const group = node === null || node.place === null || !groups ? undefined : groups[node.place];
  tree.classList.toggle("marked", group !== undefined);
  if (group === undefined) return;
  data.nodes.forEach((one, i) => boxes[i].classList.toggle("same",
    one.place !== null && groups[one.place] === group));
}

function paint() {
  data.nodes.forEach((node, i) => {
    const group = node.place === null || !groupOf[shown] ? undefined : groupOf[shown][node.place];
    boxes[i].style.backgroundColor = node.use === "works" && group !== undefined
      ? colour(group) : "";
  });
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === shown)));
}

const crossWords = (one) => data.kinds.map((kind, i) => {
  const [groups, beyond] = one.crossing[i] || [0, 0];
  return groups === 0 ? "" : `${kind.name} ${beyond} of ${groups}`;
}).filter((words) => words !== "").join(", ");

const childrenOf = data.levels.map((level, i) => {
  const lists = level.switches.map(() => []);
  if (i === 0) data.nodes.forEach((node) => lists[node.leaf].push(node));
  else data.levels[i - 1].switches.forEach((one, at) => lists[one.parent].push(at));
  return lists;
});

const order = {works: 0, spare: 1, unused: 2};
function nodesBelow(level, at) {
  return level === 0 ? childrenOf[0][at]
    : childrenOf[level][at].flatMap((below) => nodesBelow(level - 1, below));
}

function switchBox(level, at) {
  const one = data.levels[level].switches[at];
  const below = nodesBelow(level, at).length;
  const beyond = crossWords(one);
  const head = h("div", {class: "switch-head"}, h("b", null, one.name), " ",
    h("small", null, level === 0 && !isSmall ? String(below)
      : `${counted(below, "node")}${beyond ? `; beyond it: ${beyond}` : ""}`));
  head.onpointermove = (event) => showTip([`${data.levels[level].name} ${one.name}`,
    counted(below, "node"), beyond ? `groups that reach beyond it: ${beyond}` : ""]
    .filter((line) => line !== ""), event.clientX, event.clientY);
  head.onpointerleave = () => showTip(null);
  const inner = level > 0 ? childrenOf[level][at].map((child) => switchBox(level - 1, child))
    : [...childrenOf[0][at]].sort((a, b) => order[a.use] - order[b.use] || a.place - b.place)
      .map(nodeBox);
  return h("div", {class: `switch level${Math.min(level, 3)}`}, head,
    h("div", {class: "inner"}, inner));
}

const top_ = data.levels.length - 1;
const works = data.nodes.filter((node) => node.use === "works").length;
const tree = h("div", {class: "tree", role: "img", "aria-label": `${data.title}; `
  + data.levels.map((level) => counted(level.switches.length, level.name)).join(", ")
  + "; the tables below say the same in words"},
h("div", {class: "inner"}, data.levels[top_].switches.map((_, at) => switchBox(top_, at))));
const buttons = data.kinds.map((kind, i) => h("button", {type: "button", onclick: () => {
  shown = i;
  paint();
}}, `${kind.name} groups`));

function summarySection() {
  return h("header", null, h("h1", null, data.title),
    h("div", {class: "lines"}, data.lines.map((line) => h("p", null, line))),
    h("dl", {class: "facts"}, data.facts.map((fact) => h("div", null, h("dt", null, fact.label),
      h("dd", null, fact.value)))));
}

function treeSection() {
  const kinds = data.kinds.length === 0 ? null
    : h("div", {class: "tools"}, h("span", {class: "quiet"}, "Colour by"), buttons);
  return section("tree", "The place of each node", `${isSmall ? "A box is" : "A small square is"} a node, `
    + "inside the switches above it"
    + (data.kinds.length ? "; nodes of one colour share a group. Point at one to see its group." : "."),
  kinds, tree, h("div", {class: "legend"},
    h("span", null, h("span", {class: "seat works key"}), " works"),
    h("span", null, h("span", {class: "seat spare key"}), " spare"),
    h("span", null, h("span", {class: "seat unused key"}), " unused")));
}

// A table whose rows appear a part at a time.
function longTable(css, head, rows, noun) {
  const limit = 40;
  const body = h("tbody", null, rows.slice(0, limit));
  const more = rows.length <= limit ? null : h("button", {type: "button", onclick: () => {
    body.replaceChildren(...rows);
    more.hidden = true;
  }}, `Show all ${rows.length} ${noun}`);
  return [scroller(noun, h("table", {class: css}, h("thead", null, head), body)), more];
}

function crossingSection() {
  if (data.kinds.length === 0 || data.levels.every((level) => level.switches.length < 2)) return null;
  const rows = [];
  for (let level = top_; level >= 0; --level) {
    data.levels[level].switches.forEach((one, at) => {
      const nodes = nodesBelow(level, at);
      if (nodes.every((node) => node.use !== "works")) return;
      rows.push(h("tr", null, h("th", {scope: "row"}, one.name, " ",
        h("small", null, data.levels[level].name)),
      h("td", {class: "figure"}, nodes.filter((node) => node.use === "works").length),
      one.crossing.map(([groups, beyond]) => {
        const bar = svg("svg", {class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none",
          "aria-hidden": "true"}, svg("rect", {width: 100, height: 8, class: "k-present"}),
        svg("rect", {width: groups ? 100 * beyond / groups : 0, height: 8,
          class: beyond ? "k-restarting" : "k-present"}));
        return h("td", {class: "crossing"}, h("span", null,
          groups === 0 ? "–" : beyond === 0 ? `none of ${groups}` : `${beyond} of ${groups}`), bar);
      })));
    });
  }
  const head = h("tr", null, h("th", {scope: "col"}, "Switch"),
    h("th", {scope: "col", class: "figure"}, "Nodes at work"),
    data.kinds.map((kind) => h("th", {scope: "col"}, `${kind.name} groups beyond it`)));
  return section("crossing", "What crosses which switch",
    "Groups of ranks with members below the switch and elsewhere: their traffic goes through its "
    + "uplinks. Groups within one node cross nothing, and are not counted.",
    longTable("crossings", head, rows, "switches"));
}

function ordersSection() {
  if (data.costs.length === 0) return null;
  const cell = (one, i) => one.worst[i] === 0 ? "one switch"
    : `${one.worst[i]} (mean ${number(one.mean[i])})`;
  const rows = data.spreads.map((one) => h("tr", null,
    h("th", {scope: "row"}, `${one.kind} groups, ${one.level}`),
    [0, 1, 2].map((i) => h("td", {class: "figure"}, cell(one, i)))));
  rows.push(h("tr", {class: "sum"}, h("th", {scope: "row"}, "weighted"),
    data.costs.map((cost) => h("td", {class: "figure"}, number(cost)))));
  return section("orders", "Against other orders", "Switches that the widest group touches.",
    scroller("orders", h("table", null,
      h("thead", null, h("tr", null, h("th", {scope: "col"}, "Groups"),
        ["placed", "natural order", "lexicographic"].map((words) =>
          h("th", {scope: "col", class: "figure"}, words)))), h("tbody", null, rows))));
}

function placesSection() {
  const path = (node) => {
    const names = [];
    for (let level = 0, at = node.leaf; level < data.levels.length; ++level) {
      if (data.levels[level].switches.length > 1) names.push(data.levels[level].switches[at].name);
      at = data.levels[level].switches[at].parent;
    }
    return names.join(" ‹ ");
  };
  const rows = [...byPlace, ...data.nodes.filter((node) => node.place === null)
    .sort((a, b) => order[a.use] - order[b.use])].map((node) => h("tr", null,
    h("td", {class: "figure"}, node.place === null ? node.use : node.place),
    h("th", {scope: "row"}, node.name), h("td", {class: "slim"}, ranksOf(node) || "–"),
    h("td", null, path(node) || "–")));
  const head = h("tr", null, h("th", {scope: "col", class: "figure slim"}, "Place"),
    h("th", {scope: "col"}, "Node"), h("th", {scope: "col"}, "Ranks"),
    h("th", {scope: "col"}, "Switches"));
  return section("places", "Nodes", null, longTable("places", head, rows, "nodes"));
}

append(document.getElementById("page"), [summarySection(), treeSection(), crossingSection(),
  ordersSection(), placesSection(), h("footer", null, h("p", null,
    `Made by robustrun plan; ${counted(works, "node")} at work. The page loads nothing.`))]);
document.body.append(tip);
paint();
