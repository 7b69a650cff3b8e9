// What waits, by destination and stream, and a look at the logs.

import { badge, button, bytes, count, h, log, note, replace, span, time } from "./dom.js";
import { Problem, get, part } from "./api.js";
import { dialog } from "./dialog.js";
import { table } from "./table.js";

async function peek(page, destination, logstore) {
  let logs;
  try {
    ({ logs } = await get("admin/queue/peek", { destination, logstore, limit: 20 }));
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

function streams(page, name, one, order) {
  const place = (by) => `#/queue?${new URLSearchParams({ ...Object.fromEntries(page.params), order: by })}`;
  return h("section", { "data-key": name },
    h("div", { class: "row" }, h("h2", {}, h("a", { href: `#/destinations/${part(name)}` }, name)),
      one.admission === "open" ? null : badge("bad", `takes no logs: ${one.admission}`),
      h("span", {}, `${count(one.queued_logs)} logs, ${bytes(one.bytes)}, oldest ${span(one.oldest_seconds)}`),
      button("Look at the oldest", () => peek(page, name))),
    table({ caption: `Streams of ${name}, ${order === "oldest" ? "longest waiting" : "largest"} first`, rows: one.streams,
      key: (row) => `${row.logstore}/${row.topic}/${row.source}/${JSON.stringify(row.tags)}`, empty: "Nothing waits here.",
      columns: [
        { name: "logstore", label: "Logstore", cell: (row) => row.logstore },
        { name: "topic", label: "Topic", cell: (row) => row.topic || "–" },
        { name: "source", label: "Source", cell: (row) => row.source || "–" },
        { name: "tags", label: "Tags", cell: (row) => row.tags.map((tag) => (Array.isArray(tag) ? tag.join(":") : typeof tag === "object" ? `${tag.key ?? tag.name}:${tag.value}` : tag)).join(", ") + (row.tags_more ? ` and ${row.tags_more} more` : "") },
        { name: "logs", label: "Logs", kind: "number", cell: (row) => count(row.queued_logs) },
        { name: "bytes", label: [h("a", { href: place("largest") }, "Bytes", order === "largest" ? " ↓" : "")], kind: "number", cell: (row) => bytes(row.raw_bytes) },
        { name: "oldest", label: [h("a", { href: place("oldest") }, "Oldest", order === "oldest" ? " ↓" : "")], kind: "number", cell: (row) => span(row.oldest_seconds) },
        { name: "peek", label: "Look", cell: (row) => button("Peek", () => peek(page, name, row.logstore), { "aria-label": `Peek at ${row.logstore}` }) },
      ] }),
    one.streams_more ? h("p", { class: "quiet" }, `${count(one.streams_more)} more streams. `,
      h("a", { href: `#/queue?${new URLSearchParams({ ...Object.fromEntries(page.params), streams: "1000" })}` }, "Show up to 1,000")) : null);
}

export const queue = {
  title: "Queue",
  async view(page) {
    const order = page.params.get("order") ?? "oldest";
    const { queue: all, destinations } = await get("admin/queue", { destination: page.params.get("destination"),
      streams: page.params.get("streams") ?? 50, order });
    return [
      all.problem ? note("bad", all.problem) : null,
      h("p", {}, `${bytes(all.bytes)} of ${bytes(all.bytes_max)} are in use, ${count(all.streams)} streams, ${count(all.packets)} packets on their way.`,
        page.params.get("destination") ? [" ", h("a", { href: "#/queue" }, "All destinations")] : null),
      Object.entries(destinations).map(([name, one]) => streams(page, name, one, order)),
    ];
  },
};
