// Who sends, and where names lead.

import { badge, button, bytes, count, field, h, inertJSON, note, pairs, replace, span, time } from "./dom.js";
import { call, get, part, post } from "./api.js";
import { change } from "./dialog.js";
import { link } from "./lists.js";
import { sortOf, table } from "./table.js";

const sum = (values) => Object.values(values).reduce((total, value) => total + value, 0);

export const clients = {
  title: "Clients",
  async view(page) {
    const { keys, unknown_senders: unknown, addresses } = await get("admin/clients");
    const strangers = Object.entries(unknown).filter(([, value]) => value > 0);
    return [
      table({ caption: "Devices' keys since the start", rows: keys, sort: sortOf(page.params, "name"), link: link(page), key: (row) => row.name,
        empty: "No keys are configured (devices.keys), so every device may send.",
        columns: [
          { name: "name", label: "Key", value: (row) => row.name },
          { name: "destinations", label: "May send to", cell: (row) => row.destinations?.join(", ") ?? "all" },
          { name: "requests", label: "Requests", kind: "number", value: (row) => row.requests, cell: (row) => count(row.requests) },
          { name: "logs", label: "Logs", kind: "number", value: (row) => row.logs, cell: (row) => count(row.logs) },
          { name: "bytes", label: "Bytes", kind: "number", value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
          { name: "budget", label: "Budget", cell: (row) => [row.budget.rate, row.budget.bytes].filter(Boolean).join(", ") || "none" },
          { name: "refused", label: "Refused", kind: "number", value: (row) => sum(row.refused), cell: (row) => count(sum(row.refused)) },
          { name: "last", label: "Last refusal", cell: (row) => (row.last_refusal ? [time(row.last_refusal.time), h("div", { class: "reason" }, `${row.last_refusal.code}: ${row.last_refusal.message}`)] : "none") },
        ] }),
      h("h2", {}, "Unknown senders"),
      strangers.length ? pairs(...strangers.map(([reason, value]) => [reason.replaceAll("_", " "), `${count(value)} requests`]))
        : h("p", { class: "empty" }, "No request came without a known key."),
      h("h2", {}, "Addresses"),
      pairs(["With a budget in use", `${count(addresses.known)} of at most ${count(addresses.max)}`],
        ["Refused for their rate", count(addresses.refused_rate)], ["Refused for their bytes", count(addresses.refused_bytes)]),
      h("p", {}, h("a", { href: "#/refusals" }, "The last refused requests")),
    ];
  },
};

function host(one) {
  return h("section", { class: "card", "data-key": one.host },
    h("div", { class: "row" }, h("h3", {}, one.host), one.stale ? badge("warn", "stale") : badge("good", "fresh")),
    pairs(["Resolver", one.resolver ?? "the system"], ["Asked", one.resolve?.join(", ")],
      ["Time left", one.seconds_left === null ? null : one.seconds_left < 0 ? `over since ${span(one.seconds_left)}` : span(one.seconds_left)]),
    h("ul", {}, (one.addresses ?? []).map((address) => h("li", {}, h("code", {}, address.address), " ",
      address.connect_seconds === null ? "" : `connects in ${span(address.connect_seconds)} `,
      address.failed ? badge("bad", "rests after a failure") : null))));
}

export const resolvers = {
  title: "Resolvers",
  async view(page) {
    const { resolvers: all, hosts } = await get("admin/resolvers");
    const name = h("input", { id: "lookup", spellcheck: "false", autocomplete: "off", placeholder: "cn-hangzhou.log.aliyuncs.com" });
    const found = h("div", { id: "found", "data-own": "" });
    return [
      table({ caption: "Resolvers", rows: all, key: (row) => row.name, empty: "No resolver is configured: the system finds all addresses. See resolvers in the configuration.",
        columns: [{ name: "name", label: "Name", value: (row) => row.name }, { name: "kind", label: "Kind", value: (row) => row.kind },
          { name: "servers", label: "Servers", cell: (row) => `${row.servers.length}${row.resting_servers ? `, ${row.resting_servers} rest` : ""}` },
          { name: "queries", label: "Queries", cell: (row) => Object.entries(row.queries).map(([what, value]) => `${what} ${count(value)}`).join(", ") },
          { name: "state", label: "State", cell: (row) => (row.problem ? [badge("warn", "trouble"), h("div", { class: "reason" }, row.problem)] : badge("good", "fine")) }] }),
      h("h2", {}, "Hosts"),
      hosts.length ? h("div", { class: "cards" }, hosts.map(host)) : h("p", { class: "empty" }, "No host is in the cache. Destinations with resolve fill it."),
      page.mayChange ? h("div", { class: "actions" }, button("Ask again for all", () => change(page, "POST", "admin/resolvers/refresh", { done: () => "asked again" }))) : null,
      page.mayChange ? h("form", { class: "filters", onsubmit: async (event) => {
        event.preventDefault();
        const box = document.getElementById("found");
        replace(box, note("warn", "asking…"));
        try {
          const answer = await post("admin/resolvers/lookup", { query: { host: document.getElementById("lookup").value.trim() } });
          replace(box, h("pre", {}, inertJSON(answer, 2)));
        } catch (problem) { replace(box, note("bad", problem.message)); }
      } }, field("Look up a host", name, "asks every resolver, and connects to each address"), h("button", { class: "primary" }, "Look up")) : null,
      found,
    ];
  },
};
