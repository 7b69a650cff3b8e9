// Tables that sort, with their order in the address.

import { h } from "./dom.js";

/**
 * columns: { name, label, value(row), cell(row), kind }; kind is "number" for figures.
 * `sort` is { by, down }; `link(sort)` makes the address of the same page in another order. `total` is a last row, which
 * keeps its place.
 */
export function table({ caption, columns, rows, sort, link, empty, key, total }) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const shown = columns.filter(Boolean);
  const order = shown.find((column) => column.name === sort?.by);
  const sorted = order?.value && link ? [...rows].sort(compare(order.value, sort.down)) : rows;
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "quiet" }, caption),
      h("thead", {}, h("tr", {}, shown.map((column) => head(column, sort, link)))),
      h("tbody", {}, sorted.map((row) => line(row, shown, key))),
      total ? h("tfoot", {}, line(total, shown)) : null));
}

const line = (row, shown, key) => h("tr", { "data-key": key?.(row) }, shown.map((column, index) =>
  h(index === 0 && column.name !== "select" ? "th" : "td",
    { scope: index === 0 && column.name !== "select" ? "row" : null, class: column.kind },
    column.cell ? column.cell(row) : column.value(row) ?? "–")));

function head(column, sort, link) {
  const isOrder = column.name === sort?.by;
  const state = isOrder ? (sort.down ? "descending" : "ascending") : null;
  if (!column.value || !link) return h("th", { scope: "col", class: column.kind }, column.label);
  const next = { by: column.name, down: isOrder ? !sort.down : column.kind === "number" };
  return h("th", { scope: "col", class: column.kind, "aria-sort": state },
    h("a", { href: link(next) }, column.label, isOrder ? (sort.down ? " ↓" : " ↑") : ""));
}

function compare(value, down) {
  const sign = down ? -1 : 1;
  return (one, other) => {
    const [a, b] = [value(one) ?? "", value(other) ?? ""];
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  };
}

/** The order that an address asks for: "name" or "-name". */
export function sortOf(params, usual) {
  const text = params.get("sort") ?? usual;
  return { by: text.replace(/^-/, ""), down: text.startsWith("-") };
}
