// Line charts: hover or arrow keys move the cursor, the legend hides lines, and a table shows the same figures.

import { button, h, span, update } from "./dom.js";

const width = 720;
const height = 180;
const edge = { left: 58, right: 8, top: 10, bottom: 22 };
// What the reader chose for each chart, which outlives an update.
const choices = new Map();

/** series: [{ name, label, values }], all of one unit; `step` in seconds; `text(value)` writes a value. */
export function chart({ id, title, series, step, text }) {
  const choice = choices.get(id) ?? { hidden: new Set(), cursor: null, asTable: false };
  choices.set(id, choice);
  const again = () => {
    const old = document.getElementById(id);
    if (old) update(old, chart({ id, title, series, step, text }));
  };
  const shown = series.filter((one) => !choice.hidden.has(one.name));
  return h("figure", { id, class: "chart" },
    h("figcaption", {}, h("h3", {}, title), legend(series, choice, again),
      button(choice.asTable ? "as chart" : "as table", () => { choice.asTable = !choice.asTable; again(); },
        { class: "link" })),
    choice.asTable ? figures(title, shown, step, text) : lines(title, shown, series, step, text, choice, again));
}

function legend(series, choice, again) {
  if (series.length < 2) return null;
  return h("span", { class: "legend" }, series.map((one, index) => button(one.label, () => {
    if (!choice.hidden.delete(one.name)) choice.hidden.add(one.name);
    again();
  }, { class: `legend-${index}`, "aria-pressed": String(!choice.hidden.has(one.name)) })));
}

function lines(title, shown, series, step, text, choice, again) {
  const points = Math.max(...shown.map((one) => one.values.length), 2);
  const known = shown.flatMap((one) => one.values).filter((value) => value !== null);
  // Nothing is drawn on a scale of one, not of nearly nothing.
  const most = Math.max(...known, 0);
  const top = most > 0 ? nice(most) : 1;
  const x = (index) => edge.left + (index / (points - 1)) * (width - edge.left - edge.right);
  const y = (value) => height - edge.bottom - (value / top) * (height - edge.top - edge.bottom);
  const move = (index) => { choice.cursor = Math.max(0, Math.min(points - 1, index)); again(); };
  const cursor = choice.cursor === null ? null : Math.min(choice.cursor, points - 1);
  return h("div", { class: "plot", tabindex: "0", role: "img", "aria-label": summary(title, shown, text),
    onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      move((cursor ?? points - 1) + by);
    },
    onpointermove: (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * width;
      move(Math.round(((place - edge.left) / (width - edge.left - edge.right)) * (points - 1)));
    },
    onpointerleave: () => { choice.cursor = null; again(); } },
  h("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", preserveAspectRatio: "none" },
    [0, 0.5, 1].map((share) => h("line", { class: "grid", x1: edge.left, x2: width - edge.right,
      y1: y(share * top), y2: y(share * top) })),
    shown.map((one) => h("path", { class: `line line-${series.indexOf(one)}`, d: path(one.values, x, y) })),
    cursor === null ? null : h("line", { class: "cursor", x1: x(cursor), x2: x(cursor), y1: edge.top,
      y2: height - edge.bottom })),
  h("div", { class: "axis" }, [1, 0.5, 0].map((share) => h("span", {}, text(share * top)))),
  h("div", { class: "ages" }, h("span", {}, `${span((points - 1) * step)} ago`), h("span", {}, "now")),
  h("p", { class: "reading" }, cursor === null
    ? shown.map((one) => `${one.label} ${text(one.values.at(-1) ?? null)}`).join(" · ")
    : `${span((points - 1 - cursor) * step)} ago: `
      + shown.map((one) => `${one.label} ${text(one.values[cursor] ?? null)}`).join(" · ")));
}

function path(values, x, y) {
  let text = "";
  let pen = "M";
  values.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    text += `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return text || "M0 0";
}

function summary(title, shown, text) {
  return `${title}. ` + shown.map((one) => {
    const known = one.values.filter((value) => value !== null);
    if (!known.length) return `${one.label}: nothing yet`;
    return `${one.label}: now ${text(known.at(-1))}, least ${text(Math.min(...known))}, most ${text(Math.max(...known))}`;
  }).join("; ");
}

function figures(title, shown, step, text) {
  const points = Math.max(...shown.map((one) => one.values.length), 0);
  // At most forty rows: each shows the mean of its part.
  const size = Math.max(1, Math.ceil(points / 40));
  const rows = [];
  for (let end = points; end > 0; end -= size) rows.push(end);
  const mean = (values, end) => {
    const known = values.slice(Math.max(0, end - size), end).filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("table", {},
    h("caption", { class: "quiet" }, title),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Before"),
      shown.map((one) => h("th", { scope: "col", class: "number" }, one.label)))),
    h("tbody", {}, rows.map((end) => h("tr", {}, h("th", { scope: "row" }, span((points - end) * step)),
      shown.map((one) => h("td", { class: "number" }, text(mean(one.values, end)))))))));
}

/** The next of 1, 2, 5 times a power of ten. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((digit) => digit * power).find((bound) => bound >= value) ?? value;
}
