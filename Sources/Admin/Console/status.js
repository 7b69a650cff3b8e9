// Is it well? One sentence, what is wrong with its remedy, figures, charts, and where every log is.

import { badge, bytes, count, h, note, rate, span } from "./dom.js";
import { chart } from "./chart.js";
import { get } from "./api.js";
import { health } from "./cluster.js";
import { table } from "./table.js";

const windows = { "10m": "10 min", "3h": "3 h", "48h": "48 h" };
// A window is read again after its step at the earliest.
let kept = { window: null, until: 0, data: null };

async function read(window) {
  if (kept.window !== window || Date.now() > kept.until) {
    const data = await get("admin/history", { window });
    kept = { window, until: Date.now() + (data.step_seconds - 0.5) * 1000, data };
  }
  return kept.data;
}

const hasClusterTrouble = (state) => (health(state)?.kind ?? "good") !== "good";

/** What an operator has to know or do, worst first. */
export function troubles(state) {
  const found = state.reasons.map((text) => ["bad", text]);
  if (state.queue.problem) found.push(["bad", state.queue.problem]);
  for (const one of state.destinations) {
    const link = h("a", { href: `#/destinations/${encodeURIComponent(one.name)}` }, one.name);
    if (one.state === "held") found.push(["warn", [link, " is paused by an operator"]]);
    else if (one.trouble || (one.state && one.state !== "fine")) {
      const error = one.last_error;
      found.push(["bad", [link, `: ${one.trouble ?? one.state}`, error?.remedy ? `; ${error.remedy}` : ""]]);
    }
    if (one.notice) found.push(["warn", [link, `: ${one.notice}`]]);
  }
  for (const one of state.credentials) {
    if (one.state === "ok" || one.state === "refreshing") continue;
    const link = h("a", { href: "#/credentials" }, `credential ${one.name}`);
    found.push([one.state === "expiring" ? "warn" : "bad", [link, ` is ${one.state}`, one.last_problem ? `: ${one.last_problem}` : ""]]);
  }
  const cluster = health(state);
  if (hasClusterTrouble(state)) found.push([cluster.kind, [h("a", { href: "#/cluster" }, "cluster"), `: ${cluster.text}`]]);
  if (state.webhook?.problem) found.push(["warn", `webhook: ${state.webhook.problem}`]);
  if (state.draining) found.push(["warn", "The gateway drains: it refuses new logs and delivers what it has."]);
  if (!state.ledger_closed) found.push(["bad", "The ledger does not add up: see below."]);
  return found;
}

function sentence(state, found) {
  const bad = found.filter(([kind]) => kind === "bad").length;
  const accepting = state.ready ? "It accepts logs" : "It does not accept logs";
  if (!found.length) {
    const places = state.destinations.length === 1 ? "its destination" : `all ${state.destinations.length} destinations`;
    return ["good", `${accepting}, and ${places} is fine.`.replace("destinations is", "destinations are")];
  }
  const what = `${found.length} thing${found.length > 1 ? "s" : ""} to look at`;
  return [bad ? "bad" : "warn", `${accepting}; ${what}.`];
}

const lately = (values) => {
  const last = values.slice(-10).filter((value) => value !== null);
  return last.length ? last.reduce((sum, value) => sum + value, 0) / last.length : null;
};

function tile(label, value, more, link) {
  const inside = [h("span", { class: "label" }, label), h("span", { class: "value" }, value), h("span", { class: "more" }, more)];
  return link ? h("a", { class: "tile", href: link }, inside) : h("div", { class: "tile" }, inside);
}

function meter(value, most, label) {
  const share = most ? Math.min(100, (value / most) * 100) : 0;
  return h("span", { class: `meter ${share > 90 ? "bad" : share > 70 ? "warn" : ""}`, role: "img",
    "aria-label": `${label}: ${share.toFixed(0)} %` }, h("span", { "width%": share }));
}

const columns = ["accepted", "delivered", "queued", "dead", "expired", "discarded", "skipped"];

function ledger(state) {
  const rows = [...state.destinations.map((one) => ({ name: one.name, closed: one.ledger_closed, ...one.ledger })),
    { name: "all", closed: state.ledger_closed, ...state.ledger }];
  return h("section", {}, h("h2", {}, "Where every log is"), table({
    caption: "Logs of each destination; accepted is the sum of the next five columns",
    rows, key: (row) => row.name, empty: "",
    columns: [{ name: "name", label: "Destination", value: (row) => row.name },
      ...columns.map((name) => ({ name, label: name, kind: "number", cell: (row) => count(row[name]) })),
      { name: "closed", label: "Adds up", cell: (row) => (row.closed ? badge("good", "yes") : badge("bad", "no")) }],
  }));
}

export const status = {
  title: "Status",
  async view(page) {
    const window = page.params.get("window") ?? "10m";
    const [state, recent, history] = await Promise.all([get("admin/status"), read10(), read(window)]);
    const found = troubles(state);
    const [kind, text] = sentence(state, found);
    const of = (data, name) => data.series.find((one) => one.name === name)?.values ?? [];
    const line = (name, label) => ({ name, label, values: of(history, name) });
    const oldest = state.queue.oldest_seconds;
    return [
      note(kind, h("strong", {}, text),
        hasClusterTrouble(state) ? [" ", h("a", { href: "#/cluster" }, "See the cluster")] : null),
      found.length ? h("ul", { class: "troubles" }, found.map(([kind, text]) =>
        h("li", {}, badge(kind, kind === "bad" ? "problem" : "notice"), " ", text))) : null,
      h("section", { class: "tiles", "aria-label": "Figures" },
        tile("Accepted", `${rate(lately(of(recent, "accepted")))}/s`, `${count(state.ledger.accepted)} logs in all`, "#/tail"),
        tile("Delivered", `${rate(lately(of(recent, "delivered")))}/s`, `${count(state.ledger.delivered)} logs in all`, "#/destinations"),
        tile("Oldest undelivered", oldest === null ? "none" : span(oldest), `${count(state.ledger.queued)} logs wait`, "#/queue"),
        tile("Queue", bytes(state.queue.bytes), [meter(state.queue.bytes, state.queue.bytes_max, "queue"), ` of ${bytes(state.queue.bytes_max)}`], "#/queue"),
        tile("Disk free", bytes(state.queue.disk_free_bytes), `database ${bytes(state.queue.database_bytes)}`),
        tile("Dead letters", count(state.ledger.dead), "logs that cannot be delivered as they are", "#/dead-letters"),
        tile("Refused", `${rate(lately(of(recent, "refused")))}/s`, "requests, with reasons", "#/refusals"),
        tile("Memory", bytes(state.process.resident_bytes), `up ${span(state.uptime_seconds)}, version ${state.version}`, "#/configuration")),
      h("section", {},
        h("div", { class: "row" }, h("h2", {}, "Lately"), h("span", { class: "choices" }, Object.entries(windows).map(([name, label]) =>
          h("a", { href: `#/status?window=${name}`, "aria-current": name === window ? "true" : null }, label)))),
        h("div", { class: "charts" },
          chart({ id: "chart-rates", title: "Logs per second", step: history.step_seconds, text: rate,
            series: [line("accepted", "accepted"), line("delivered", "delivered")] }),
          chart({ id: "chart-backlog", title: "Logs that wait", step: history.step_seconds, text: count,
            series: [line("queued_logs", "waiting")] }),
          chart({ id: "chart-oldest", title: "Age of the oldest", step: history.step_seconds, text: span,
            series: [line("oldest_seconds", "oldest")] }),
          chart({ id: "chart-refused", title: "Refused requests per second", step: history.step_seconds, text: rate,
            series: [line("refused", "refused")] }),
          chart({ id: "chart-bytes", title: "Bytes", step: history.step_seconds, text: bytes,
            series: [line("queued_bytes", "queue"), line("memory_bytes", "memory")] }))),
      ledger(state),
    ];
  },
};

let recentKept = { until: 0, data: null };

async function read10() {
  if (Date.now() > recentKept.until) {
    recentKept = { data: await get("admin/history", { window: "10m" }), until: Date.now() + 4000 };
  }
  return recentKept.data;
}
