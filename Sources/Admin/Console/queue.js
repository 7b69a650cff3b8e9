// What waits, by destination and stream, and a look at the logs.

import { badge, button, bytes, count, h, log, note, replace, span, time } from "./dom.js";
import { Problem, get, part } from "./api.js";
import { incomplete } from "./cluster.js";
import { dialog } from "./dialog.js";
import { table } from "./table.js";

/** `node` is another gateway of the cluster. */
async function peek(page, node, destination, logstore) {
  let logs;
  try {
    const all = await get("admin/queue/peek", { destination, logstore, limit: 20 });
    const one = node ? all.other_gateways?.[node] : all;
    if (!one) return void page.say("bad", `no answer from ${node}`);
    ({ logs } = one);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    page.say("bad", problem.message);
    return null;
  }
  const content = logs.length ? h("ol", { class: "peek" }, logs.map((one) => h("li", {}, time(one.accepted), " ",
    h("span", { class: "quiet" }, `${one.logstore}${one.topic ? ` · ${one.topic}` : ""} `), log(one.log))))
    : h("p", { class: "empty" }, "Nothing waits there now.");
  return dialog(`Oldest logs of ${logstore ?? destination}`, h("div", {}, h("p", { class: "quiet" }, "They stay in the queue."), content),
    (close) => button("Close", () => close(null)));
}

function streams(page, node, name, one, order) {
  const place = (by) => `#/queue?${new URLSearchParams({ ...Object.fromEntries(page.params), order: by })}`;
  return h("section", { "data-key": name },
    h("div", { class: "row" }, node ? h("h3", {}, name) : h("h2", {}, h("a", { href: `#/destinations/${part(name)}` }, name)),
      one.admission === "open" ? null : badge("bad", `takes no logs: ${one.admission}`),
      h("span", {}, `${count(one.queued_logs)} logs, ${bytes(one.bytes)}, oldest ${span(one.oldest_seconds)}`),
      button("Look at the oldest", () => peek(page, node, name), node ? { "aria-label": `Look at the oldest of ${name} at ${node}` } : {})),
    table({ caption: `Streams of ${name}${node ? ` at ${node}` : ""}, ${order === "oldest" ? "longest waiting" : "largest"} first`, rows: one.streams,
      key: (row) => `${row.logstore}/${row.topic}/${row.source}/${JSON.stringify(row.tags)}`, empty: "Nothing waits here.",
      columns: [
        { name: "logstore", label: "Logstore", cell: (row) => row.logstore },
        { name: "topic", label: "Topic", cell: (row) => row.topic || "–" },
        { name: "source", label: "Source", cell: (row) => row.source || "–" },
        { name: "tags", label: "Tags", cell: (row) => row.tags.map((tag) => (Array.isArray(tag) ? tag.join(":") : typeof tag === "object" ? `${tag.key ?? tag.name}:${tag.value}` : tag)).join(", ") + (row.tags_more ? ` and ${row.tags_more} more` : "") },
        { name: "logs", label: "Logs", kind: "number", cell: (row) => count(row.queued_logs) },
        { name: "bytes", label: [h("a", { href: place("largest") }, "Bytes", order === "largest" ? " ↓" : "")], kind: "number", cell: (row) => bytes(row.raw_bytes) },
        { name: "oldest", label: [h("a", { href: place("oldest") }, "Oldest", order === "oldest" ? " ↓" : "")], kind: "number", cell: (row) => span(row.oldest_seconds) },
        { name: "peek", label: "Look", cell: (row) => button("Peek", () => peek(page, node, name, row.logstore), { "aria-label": `Peek at ${row.logstore}${node ? ` at ${node}` : ""}` }) },
      ] }),
    one.streams_more ? h("p", { class: "quiet" }, `${count(one.streams_more)} more streams. `,
      h("a", { href: `#/queue?${new URLSearchParams({ ...Object.fromEntries(page.params), streams: "1000" })}` }, "Show up to 1,000")) : null);
}

const inUse = (all) => `${bytes(all.bytes)} of ${bytes(all.bytes_max)} are in use, ${count(all.streams)} streams, ${count(all.packets)} packets on their way.`;

/** What waits at another gateway of the cluster. */
const elsewhere = (page, node, { queue: all, destinations }, order) => h("section", { "data-key": node },
  h("h2", {}, `Gateway ${node}`), all.problem ? note("bad", all.problem) : null, h("p", {}, inUse(all)),
  Object.entries(destinations).map(([name, one]) => streams(page, node, name, one, order)));

export const queue = {
  title: "Queue",
  async view(page) {
    const order = page.params.get("order") ?? "oldest";
    const { queue: all, destinations, other_gateways: others, missing } = await get("admin/queue", { destination: page.params.get("destination"),
      streams: page.params.get("streams") ?? 50, order });
    return [
      all.problem ? note("bad", all.problem) : null,
      incomplete(missing),
      h("p", {}, inUse(all),
        page.params.get("destination") ? [" ", h("a", { href: "#/queue" }, "All destinations")] : null),
      Object.entries(destinations).map(([name, one]) => streams(page, null, name, one, order)),
      Object.entries(others ?? {}).map(([node, one]) => elsewhere(page, node, one, order)),
    ];
  },
};
