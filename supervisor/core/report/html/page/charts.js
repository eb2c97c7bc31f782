// Numbers over time: the script's metrics and the rate of steps, with incidents and checkpoints.

// `from`: the reading before in the same attempt, since which a rate holds.
function points(column) {
  return data.readings.map((row, i) => {
    const before = data.readings[i - 1];
    return {at: row[0], attempt: row[1], step: row[3], value: row[column],
      from: before && before[1] === row[1] ? before[0] : row[0]};
  }).filter((one) => one.value !== null && one.value !== undefined);
}

// A rate is level between two readings, with a gap where no step was done. Other numbers are known
// at readings alone, and joined within an attempt.
function linesOf(all, kind, x, y) {
  const lines = [];
  let before = null;
  for (const one of all) {
    const at = `${x(one.at).toFixed(1)} ${y(one.value).toFixed(1)}`;
    const goesOn = before && before.attempt === one.attempt
      && (kind !== "rate" || one.from === before.at);
    if (!goesOn) lines.push([]);
    if (kind === "rate") {
      lines[lines.length - 1].push(`${x(one.from).toFixed(1)} ${y(one.value).toFixed(1)}`);
    }
    lines[lines.length - 1].push(at);
    before = one;
  }
  return lines;
}

// Values from 1 to more than a hundred times that are easier to read by powers of ten.
function scaleOf(values, kind) {
  const low = Math.min(...values), high = Math.max(...values);
  if (kind !== "rate" && low > 0 && high / low > 100) {
    const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
    const ticks = [];
    for (let power = from; power <= to; ++power) ticks.push(10 ** power);
    return {share: (value) => (Math.log10(value) - from) / (to - from), ticks, log: true};
  }
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
  const fromZero = low >= 0 && (kind === "rate" || low < 0.4 * high);
  const from = fromZero ? 0 : low - room, to = high + room;
  return {share: (value) => (value - from) / (to - from), ticks: valueTicks(from, to, 4)};
}

function drawChart(host, width, all, unit, kind) {
  const height = 190, left = 62, right = 10, top = 12, bottom = 34;
  const scale = scaleOf(all.map((one) => one.value), kind);
  const x = (at) => left + at / Math.max(1, data.duration) * (width - left - right);
  const y = (value) => top + (1 - scale.share(value)) * (height - top - bottom);
  const picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`,
    "aria-hidden": "true"});
  for (const value of scale.ticks) {
    picture.append(
      svg("path", {class: "grid", d: `M${left} ${y(value).toFixed(1)}H${width - right}`}),
      svg("text", {class: "axis", x: left - 8, y: y(value) + 4, "text-anchor": "end"},
        number(value)));
  }
  for (const tick of timeTicks(0, data.duration, (width - left) / 100)) {
    const end = x(tick.at) > width - 40;
    picture.append(svg("text", {class: "axis", x: end ? width - right : x(tick.at), y: height - 8,
      "text-anchor": end ? "end" : "middle"}, tick.words));
  }
  for (const incident of data.incidents) {
    picture.append(svg("path", {class: "restart",
      d: `M${x(incident.at).toFixed(1)} ${top - 6}V${height - bottom}`}));
  }
  for (const [at, what] of data.marks) {
    if (what !== 1) continue;
    picture.append(svg("path", {class: "commit",
      d: `M${x(at).toFixed(1)} ${height - bottom + 3}v5`}));
  }
  for (const line of linesOf(all, kind, x, y)) {
    picture.append(svg("path", {class: `line ${kind}`, d: `M${line.join("L")}`}));
  }
  const dot = (one, css, r) => svg("circle", {class: css, cx: x(one.at).toFixed(1),
    cy: y(one.value).toFixed(1), r});
  if (all.length <= 60) picture.append(...all.map((one) => dot(one, `dot ${kind}`, 2.5)));
  const mark = svg("circle", {class: "here", r: 4.5, cx: -9, cy: -9});
  picture.append(mark);
  host.onpointermove = (event) => {
    const at = (event.clientX - host.getBoundingClientRect().left - left)
      / (width - left - right) * data.duration;
    const near = all.reduce((best, one) =>
      Math.abs(one.at - at) < Math.abs(best.at - at) ? one : best, all[0]);
    set(mark, {cx: x(near.at), cy: y(near.value)});
    showTip([`${number(near.value)}${unit}`, `after ${duration(near.at)}, attempt ${near.attempt}`
      + (near.step === null ? "" : `, step ${near.step}`)], event.clientX, event.clientY);
  };
  host.onpointerleave = () => { set(mark, {cx: -9}); showTip(null); };
  host.replaceChildren(picture);
}

function chart(title, all, unit, kind) {
  if (all.length === 0) return null;
  const values = all.map((one) => one.value);
  const words = `${title}: from ${number(values[0])}${unit} to ${number(values[values.length - 1])}`
    + `${unit}, lowest ${number(Math.min(...values))}, highest ${number(Math.max(...values))}`;
  const host = h("div", {class: "chart", role: "img", "aria-label": words});
  onWidth(host, (width) => drawChart(host, width, all, unit, kind));
  const logs = scaleOf(values, kind).log ? h("small", null, " powers of ten") : null;
  return h("figure", null, h("figcaption", null, h("b", null, title), logs,
    h("span", {class: "last"}, `${number(values[values.length - 1])}${unit}`)), host);
}

function chartSection() {
  const figures = data.metrics.map((name, i) => chart(name, points(5 + i), "", "metric"));
  figures.push(chart("Steps per second", points(4), "/s", "rate"));
  const drawn = figures.filter((one) => one !== null);
  if (drawn.length === 0) return null;
  const marks = data.marks.some((row) => row[1] === 1)
    ? " Ticks below are committed checkpoints." : "";
  return section("numbers", "Loss and rate",
    `As rank 0 reported them; dashed lines are incidents.${marks}`,
    h("div", {class: "figures"}, drawn));
}
