// Screens that are one list: refused requests, the configuration, the audit log.

import { badge, button, count, field, h, note, time } from "./dom.js";
import { get } from "./api.js";
import { sortOf, table } from "./table.js";

/** A box that narrows a list as one types; the words are in the address. */
export function narrow(page, label) {
  const input = h("input", { id: "narrow", type: "search", spellcheck: "false", value: page.params.get("find") ?? "",
    oninput: (event) => {
      page.params.set("find", event.target.value);
      history.replaceState(null, "", `#/${page.name}?${page.params}`);
      page.refresh();
    } });
  return field(label, input);
}

export function suits(page, ...texts) {
  const wanted = (page.params.get("find") ?? "").toLowerCase();
  return texts.some((text) => String(text ?? "").toLowerCase().includes(wanted));
}

export const link = (page) => ({ by, down }) => {
  const params = new URLSearchParams(page.params);
  params.set("sort", `${down ? "-" : ""}${by}`);
  return `#/${page.name}?${params}`;
};

export const refusals = {
  title: "Refusals",
  async view(page) {
    const { refusals: all, missed } = await get("admin/refusals");
    const rows = all.filter((row) => suits(page, row.code, row.path, row.address, row.key, row.message, row.agent, row.status));
    return [
      h("p", {}, "The last 200 requests that were refused, without their bodies. To see bodies, ",
        h("a", { href: "#/capture?status=4xx" }, "capture them"), "."),
      missed ? note("warn", `${count(missed)} more were refused in floods, and are only counted.`) : null,
      narrow(page, "Find"),
      table({ caption: "Refused requests, newest first", rows, sort: sortOf(page.params, "-time"), link: link(page), key: (row) => row.id,
        empty: all.length ? "None suits." : "No request was refused since the start. A wrong key, an unreadable body or a full queue would show here.",
        columns: [
          { name: "time", label: "When", value: (row) => row.time, cell: (row) => time(row.time) },
          { name: "status", label: "Status", kind: "number", value: (row) => row.status },
          { name: "code", label: "Reason", value: (row) => row.code, cell: (row) => [h("b", {}, row.code), h("div", { class: "reason" }, row.message)] },
          { name: "path", label: "Request", value: (row) => row.path, cell: (row) => h("code", {}, `${row.method} ${row.path}${row.query ? `?${row.query}` : ""}`) },
          { name: "address", label: "From", value: (row) => row.address, cell: (row) => [row.address, row.key ? h("div", { class: "quiet" }, `key ${row.key}`) : null] },
          { name: "agent", label: "Client", value: (row) => row.agent },
        ] }),
    ];
  },
};

export const configuration = {
  title: "Configuration",
  async view(page) {
    const { file, values, problems } = await get("admin/configuration");
    const only = page.params.get("only") === "changed";
    const rows = values.filter((row) => (!only || row.changed) && suits(page, row.key, row.value));
    const params = new URLSearchParams(page.params);
    if (only) params.delete("only");
    else params.set("only", "changed");
    return [
      h("p", {}, file ? ["Read from ", h("code", {}, file), ". "] : "There is no file: options, variables and defaults decide. ",
        h("a", { href: `#/configuration?${params}` }, only ? "Show all" : "Show only what differs from the defaults")),
      problems.map((one) => note(one.refused ? "bad" : "warn", one.refused ? "Not in force: " : "", one.message)),
      narrow(page, "Find"),
      table({ caption: "Settings in force", rows, sort: sortOf(page.params, "place"), link: link(page), key: (row) => row.key,
        empty: "None suits.",
        columns: [
          { name: "key", label: "Setting", value: (row) => row.key, cell: (row) => h("code", {}, row.key) },
          { name: "value", label: "Value", value: (row) => row.value, cell: (row) => (row.hidden ? h("span", { class: "quiet" }, "not shown") : row.value === null ? h("span", { class: "quiet" }, "not set") : h("code", {}, row.value)) },
          { name: "origin", label: "Origin", value: (row) => row.origin, cell: (row) => (row.changed ? badge(row.origin === "decided" ? "warn" : "good", row.origin + (row.line ? `, line ${row.line}` : "")) : h("span", { class: "quiet" }, "default")) },
        ] }),
    ];
  },
};

export const audit = {
  title: "Audit",
  async view(page) {
    const before = page.params.get("before");
    const { changes } = await get("admin/audit", { limit: 100, before });
    const last = changes.at(-1)?.id;
    return [
      h("p", {}, "What operators changed, and from where. The gateway keeps the newest changes."),
      table({ caption: "Changes, newest first", rows: changes, key: (row) => row.id,
        empty: before ? "There are no older changes." : "Nothing was changed yet. A login, a pause or a rotation would show here.",
        columns: [
          { name: "time", label: "When", cell: (row) => time(row.time) },
          { name: "actor", label: "Who", cell: (row) => [row.actor, h("div", { class: "quiet" }, row.address)] },
          { name: "action", label: "What", cell: (row) => [h("b", {}, row.action), " ", row.subject] },
          { name: "change", label: "Change", cell: (row) => (row.before || row.after ? `${row.before || "–"} → ${row.after || "–"}` : "") },
        ] }),
      h("div", { class: "actions" }, before ? h("a", { href: "#/audit" }, "newest") : null,
        changes.length === 100 ? h("a", { href: `#/audit?before=${last}` }, "older") : null),
    ];
  },
};
