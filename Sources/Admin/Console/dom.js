// Builds and updates pages. Texts of devices become text nodes only, with their control characters made visible.

const svg = "http://www.w3.org/2000/svg";
const svgTags = new Set(["svg", "path", "line", "rect", "circle", "g", "title"]);

// Directions and invisible characters can make a text look like another one.
const marks = {
  "\u061c": "ALM", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM",
  "\u200f": "RLM", "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO",
  "\u202e": "RLO", "\u00ad": "SHY", "\u2060": "WJ", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
  "\0": "NUL", "\u0007": "BEL", "\b": "BS", "\t": "TAB", "\r": "CR", "\u001b": "ESC", "\u007f": "DEL", "\ufeff": "BOM", "\u2028": "LS", "\u2029": "PS",
};

const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** JSON with such characters as its own escapes, which JSON.stringify leaves out. */
export const inertJSON = (value, indent) => JSON.stringify(value, null, indent).replace(steering, (character) =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

/** The text with control, direction and invisible characters as symbols. Line ends stay. */
export function visible(text) {
  return String(text).replace(steering, (character) => {
    const code = character.codePointAt(0).toString(16).padStart(4, "0").toUpperCase();
    return `⟦${marks[character] ?? `U+${code}`}⟧`;
  });
}

/** An element. Attributes that begin with "on" are listeners; children are nodes, texts, arrays, or nothing. */
export function h(tag, attributes = {}, ...children) {
  const node = svgTags.has(tag) ? document.createElementNS(svg, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) listen(node, name.slice(2), value);
    else if (name === "width%") node.style.width = `${value}%`;
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child instanceof Node) node.append(child);
    else if (child !== null && child !== undefined && child !== false) node.append(visible(child));
  }
}

// A node has one listener for each event, which calls the present handler: an update replaces the handler.
function listen(node, event, handler) {
  node.handlers ??= {};
  node.handlers[event] = handler;
  node.addEventListener(event, dispatch);
}

function dispatch(event) {
  event.currentTarget.handlers?.[event.type]?.(event);
}

/** Makes `old` look like `fresh`, and keeps its focus, scroll positions and what was typed. */
export function update(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName
    || old.dataset?.key !== fresh.dataset?.key) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // Whether details are open is the reader's business.
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const event of Object.keys(fresh.handlers ?? {})) {
    if (!old.handlers?.[event]) old.addEventListener(event, dispatch);
  }
  old.handlers = fresh.handlers;
  if (old.dataset?.own !== undefined) return;
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  after.forEach((child, index) => {
    if (index < before.length) update(before[index], child);
    else old.append(child);
  });
  before.slice(after.length).forEach((child) => child.remove());
}

export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

// Texts for figures

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const decimals = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const count = (value) => (value === null || value === undefined ? "–" : counts.format(value));

export function rate(value) {
  if (value === null || value === undefined) return "–";
  return value >= 100 ? counts.format(value) : decimals.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return `${unit === "B" ? size : decimals.format(size)} ${unit}`;
    size /= 1024;
  }
  return `${decimals.format(size)} TiB`;
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.abs(seconds);
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${decimals.format(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

/** "3 min ago", with the exact time on hover. */
export function time(text) {
  if (!text) return h("span", {}, "–");
  const seconds = (Date.now() - Date.parse(text)) / 1000;
  const shown = seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
  return h("time", { datetime: text, title: text }, shown);
}

// Parts of pages

const signs = { good: "✓", warn: "!", bad: "✕", idle: "–" };

/** A word for a state, with a sign beside the colour. */
export function badge(kind, word) {
  return h("span", { class: `badge ${kind}` }, h("span", { "aria-hidden": "true" }, signs[kind]), " ", word);
}

export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

export function field(label, control, hint) {
  const id = control.id || `f-${label.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control,
    hint ? h("small", { id: `${id}-hint` }, hint) : null);
}

export function note(kind, ...children) {
  return h("div", { class: `note ${kind}`, role: kind === "bad" ? "alert" : "status" }, children);
}

export function pairs(...rows) {
  return h("dl", { class: "pairs" }, rows.filter(Boolean).map(([name, value]) => [
    h("dt", {}, name), h("dd", {}, value ?? "–"),
  ]));
}

const clip = 2000;

/** A text that may be long. */
export function long(text, tag = "span") {
  const all = String(text ?? "");
  if (all.length <= clip) return h(tag, { class: "text" }, all);
  const node = h(tag, { class: "text", "data-own": "" }, all.slice(0, clip), "… ");
  node.append(button(`show all ${count(all.length)} characters`, () => replace(node, all)));
  return node;
}

/** The fields of a log, one after the other. */
export function log(fields) {
  return h("span", { class: "log" }, Object.entries(fields ?? {}).map(([name, value]) => [
    h("b", {}, name), "=", long(value), " ",
  ]));
}

/** What differs between two sets of fields. */
export function difference(before, after) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return h("table", { class: "difference" },
    h("caption", { class: "quiet" }, "Fields before and after"),
    h("thead", {}, h("tr", {}, ["Field", "Before", "After"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, names.map((name) => {
      const [was, is] = [before?.[name], after?.[name]];
      const kind = was === is ? "" : was === undefined ? "added" : is === undefined ? "removed" : "changed";
      return h("tr", { class: kind },
        h("th", { scope: "row" }, name, kind ? h("small", {}, ` ${kind}`) : null),
        h("td", {}, was === undefined ? "" : long(was)), h("td", {}, is === undefined ? "" : long(is)));
    })));
}
