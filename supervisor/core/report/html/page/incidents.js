// The table of incidents. Details are made when they are opened: there may be a thousand.

const item = (label, ...children) => {
  const kept = children.flat().filter((child) => child);
  return kept.length === 0 ? null
    : h("div", {class: "item"}, h("h3", null, label), h("div", null, kept));
};
const list = (lines) => lines.length === 0 ? null
  : lines.length === 1 ? h("p", null, lines[0])
    : h("ul", null, lines.map((line) => h("li", null, line)));
const quote = (lines) => h("pre", {tabindex: "0"}, lines.join("\n"));

function phaseBars(incident) {
  const sum = incident.phases.reduce((all, phase) => all + phase.ms, 0);
  if (sum <= 0) return null;
  let at = 0;
  const rows = incident.phases.map((phase) => {
    const row = h("tr", null, h("th", {scope: "row"}, phase.name),
      h("td", {class: "wide"}, h("div", {class: "bars"},
        bar(phase.name === "catch up" ? "recomputing" : phase.name === "detect" ? "detecting"
          : "restarting", at / sum, phase.ms / sum, ""))),
      h("td", {class: "figure"}, phase.words));
    at += phase.ms;
    return row;
  });
  return h("table", {class: "phases"}, h("tbody", null, rows));
}

function stackColumns(incident) {
  const columns = incident.stacks.filter((one) => one.trace.length + one.output.length > 0);
  if (columns.length === 0) return null;
  return h("div", {class: "item"}, h("h3", null, columns.length > 1
    ? "Stacks and last lines, side by side" : "Stack and last lines"),
  h("div", {class: "columns"}, columns.map((one) => h("div", {class: "column"},
    h("h4", null, one.title),
    one.trace.length > 0 ? [h("p", {class: "what"}, "Stack"), quote(one.trace)] : null,
    one.output.length > 0 ? [h("p", {class: "what"}, "Last lines"), quote(one.output)] : null))));
}

function incidentBody(incident) {
  const diagnoses = incident.diagnoses.map((one) =>
    h("div", {class: "diagnosis"}, h("p", null, one.title),
      one.evidence.length > 0 ? quote(one.evidence) : null));
  return h("div", {class: "body"},
    item("Verdict", incident.likely ? h("p", {class: "lead"}, incident.likely) : null,
      incident.ended ? h("p", null, `${incident.subject}: ${incident.ended}`) : null,
      incident.injected ? h("p", null, `Injected before: ${incident.injected}`) : null),
    item("Error", incident.error.length > 0 ? quote(incident.error) : null),
    item("Evidence", list(incident.evidence)),
    item("Diagnosis", diagnoses),
    stackColumns(incident),
    item("Also failed", list(incident.also)),
    item("What was done", list(incident.decision),
      incident.decision.length === 0 ? "Nothing: the journal ends before a decision." : null),
    item("Not done", list(incident.not_done)),
    item("Advice", incident.advice ? h("p", null, incident.advice) : null),
    item("Recovery", incident.recovery ? h("p", null, incident.recovery) : null,
      phaseBars(incident), list(incident.cold)),
    item("Steps", incident.steps ? h("p", null, incident.steps) : null,
      incident.saved ? h("p", null, incident.saved) : null,
      list(incident.moved),
      incident.not_resumed ? h("p", {class: "warn"}, incident.not_resumed) : null),
    incident.cut ? h("p", {class: "note"},
      "Some texts are cut; `robustrun report --json` has all of them.") : null);
}

function incidentRow(incident, index) {
  const cells = h("summary", null,
    h("span", {class: "number"}, index + 1),
    h("span", {class: "when"}, incident.when),
    h("span", {class: "what"}, h("b", null, incident.what),
      h("small", null, incident.verdict || "no decision in the journal")),
    h("span", {class: "cost"}, incident.cost || "–"));
  const row = h("details", {class: "incident-row", id: `incident-${index + 1}`}, cells);
  row.fill = () => {
    if (!row.body) row.append(row.body = incidentBody(incident));
  };
  row.addEventListener("toggle", () => { if (row.open) row.fill(); });
  row.words = [incident.what, incident.verdict, incident.likely, incident.node].join(" ")
    .toLowerCase();
  return row;
}

function eventList() {
  if (data.events.length === 0) return null;
  return h("div", null, h("h3", null, "Also in the journal"),
    h("table", {class: "events"}, h("thead", {class: "unseen"}, h("tr", null,
      h("th", {scope: "col"}, "When"), h("th", {scope: "col"}, "Kind"),
      h("th", {scope: "col"}, "What"))),
    h("tbody", null, data.events.map((event) => h("tr", null,
      h("td", {class: "figure slim"}, duration(event.at)),
      h("td", {class: "slim"}, h("span", {class: "chip"}, event.kind)),
      h("td", null, event.words))))));
}

function incidentSection() {
  const rows = data.incidents.map(incidentRow);
  if (rows.length === 0) {
    return section("incidents", "Incidents", "None: nothing failed.", eventList());
  }
  const filter = h("input", {type: "search", placeholder: "Filter by text or node",
    "aria-label": "Filter incidents", oninput: () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.words.includes(wanted);
    }});
  // Not left to the toggle event, which comes too late for printing.
  const open = (all) => rows.filter((row) => !row.hidden).forEach((row) => {
    if (all) row.fill();
    row.open = all;
  });
  window.addEventListener("beforeprint", () => open(true));
  if (rows.length === 1) rows[0].open = true;
  const tools = h("div", {class: "tools"}, rows.length > 5 ? filter : null,
    h("button", {type: "button", onclick: () => open(true)}, "Open all"),
    h("button", {type: "button", onclick: () => open(false)}, "Close all"));
  return section("incidents", counted(rows.length, "incident"), null,
    rows.length > 1 ? tools : null,
    h("div", {class: "incident-head", "aria-hidden": "true"}, h("span", null, "#"),
      h("span", null, "After"), h("span", null, "What failed, and what was done"),
      h("span", {class: "cost"}, "Cost")),
    h("div", {class: "incident-list"}, rows), eventList());
}
