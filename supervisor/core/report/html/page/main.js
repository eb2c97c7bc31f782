// Puts the page together.

function footer() {
  const open = data.outcome === "unfinished"
    ? "The journal has no end: this is the run as it was when the page was made. " : "";
  const missing = data.left_out.length > 0
    ? `Left out to keep it small: ${data.left_out.join("; ")}. ` : "";
  return h("footer", null, h("p", null,
    `${open}${missing}Made by robustrun from the run's journal alone; it loads nothing.`));
}

append(document.getElementById("page"), [summary(), timeSection(), ganttSection(),
  incidentSection(), chartSection(), checkpointSection(), placementSection(), machineSection(),
  footer()]);
document.body.append(tip);
