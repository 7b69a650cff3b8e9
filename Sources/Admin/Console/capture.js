// Captures of requests: start, list, and one request with everything that was decided about it.

import { badge, button, bytes, count, difference, field, h, log, long, note, pairs, replace, span, time } from "./dom.js";
import { Problem, call, get, part, post } from "./api.js";
import { change, copy, dialog } from "./dialog.js";
import { findings } from "./routes.js";
import { table } from "./table.js";

const kinds = { running: "good", full: "warn", ended: "idle", stopped: "idle" };
const filters = [["path", "Path begins with (* for any text)", "/logs/"], ["host", "Host", "*.example.com"], ["tag", "Tag", "app.**"], ["key", "Device key", ""], ["address", "Address", "10.0.0.0/8"],
  ["status", "Status", "4xx"], ["text", "Text in the body", ""]];
const limits = [["records", "Requests", 100], ["bytes", "Bytes", 8388608], ["seconds", "Seconds", 600]];

const inWords = (filter) => Object.entries(filter).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value}`).join(", ") || "everything";

function form(page) {
  const input = (name, value, type = "text", hint = "") => h("input", { id: `capture-${name}`, type, value, placeholder: hint, spellcheck: "false", autocomplete: type === "text" ? "off" : null, min: type === "number" ? "1" : null });
  const value = (name) => document.getElementById(`capture-${name}`).value.trim();
  return h("form", { class: "filters", onsubmit: (event) => {
    event.preventDefault();
    const body = { filter: {} };
    for (const [name] of filters) if (value(name)) body.filter[name] = value(name);
    for (const [name] of limits) if (value(name)) body[name] = Number(value(name));
    change(page, "POST", "admin/captures", { body, done: (answer) => { location.hash = `#/capture/${answer.id}`; return `capture ${answer.id} runs`; } });
  } },
  filters.map(([name, label, hint]) => field(label, input(name, page.params.get(name) ?? "", "text", hint))),
  limits.map(([name, label, usual]) => field(`${label}, at most`, input(name, usual, "number"))),
  h("button", { class: "primary" }, "Start a capture"));
}

async function list(page) {
  const { captures } = await get("admin/captures");
  const running = captures.filter((one) => one.state === "running");
  return [
    h("p", {}, "A capture keeps the next requests that suit, with every decision about them. Secrets are masked before anything is kept. It ends by itself."),
    running.length ? note("warn", `${running.length} capture${running.length > 1 ? "s run" : " runs"}.`) : null,
    page.mayChange ? form(page) : null,
    table({ caption: "Captures", rows: captures.toReversed(), key: (row) => row.id, empty: "No capture was started since the gateway did.",
      columns: [
        { name: "id", label: "Capture", cell: (row) => h("a", { href: `#/capture/${row.id}` }, row.id) },
        { name: "state", label: "State", cell: (row) => badge(kinds[row.state], row.state) },
        { name: "filter", label: "Keeps", cell: (row) => inWords(row.filter) },
        { name: "kept", label: "Requests", kind: "number", cell: (row) => `${count(row.kept)} of ${count(row.records)}` },
        { name: "bytes", label: "Bytes", kind: "number", cell: (row) => bytes(row.kept_bytes) },
        { name: "actor", label: "Started", cell: (row) => [row.actor, " ", time(row.started)] },
      ] }),
  ];
}

async function session(page, id) {
  page.title(`Capture ${id}`);
  const one = await get(`admin/captures/${part(id)}`);
  const path = `../admin/captures/${part(id)}`;
  return [
    h("p", {}, h("a", { href: "#/capture" }, "All captures")),
    h("div", { class: "row" }, badge(kinds[one.state], one.state), `keeps ${inWords(one.filter)}`,
      h("span", {}, `${count(one.kept)} requests, ${bytes(one.kept_bytes)}; ${one.state === "running" ? "ends" : "ended"} by `, time(one.ends))),
    one.missed ? note("warn", `${count(one.missed)} requests matched and found no room.`) : null,
    h("div", { class: "actions" }, h("a", { href: `${path}/har`, download: `sluice-${id}.har` }, "Export as HAR"),
      h("a", { href: `${path}/export`, download: `sluice-${id}.ndjson` }, "Export as JSON lines"),
      page.mayChange ? button("Stop and forget", () => change(page, "DELETE", `admin/captures/${part(id)}`,
        { title: `Remove ${id}`, text: `Its ${count(one.kept)} requests are forgotten.`, done: () => "it is gone", next: "#/capture" })) : null),
    table({ caption: "Captured requests", rows: one.entries, key: (row) => row.n, empty: "No request suited yet. It shows here as soon as one comes.",
      columns: [
        { name: "n", label: "No.", cell: (row) => h("a", { href: `#/capture/${id}/${row.n}` }, row.n) },
        { name: "time", label: "When", cell: (row) => time(row.time) },
        { name: "status", label: "Answer", cell: (row) => [badge(row.status < 400 ? "good" : "bad", row.status), row.code ? ` ${row.code}` : ""] },
        { name: "path", label: "Request", cell: (row) => h("code", {}, `${row.method} ${row.path}`) },
        { name: "from", label: "From", cell: (row) => [row.address, row.key ? h("div", { class: "quiet" }, `key ${row.key}`) : null] },
        { name: "logs", label: "Logs", kind: "number", cell: (row) => count(row.logs) },
        { name: "bytes", label: "Bytes", kind: "number", cell: (row) => bytes(row.bytes) },
        { name: "delivery", label: "Delivery", cell: (row) => (row.delivery === "none" ? "–" : badge(row.delivery === "delivered" ? "good" : "warn", row.delivery)) },
        { name: "ms", label: "Time", kind: "number", cell: (row) => (row.milliseconds === null ? "–" : span(row.milliseconds / 1000)) },
      ] }),
  ];
}

function body(title, one) {
  if (!one) return null;
  return h("section", {}, h("h2", {}, title), h("p", { class: "quiet" }, `${count(one.bytes)} bytes${one.sha256 ? `, SHA-256 ${one.sha256}` : ""}${one.reason ? `; ${one.reason}` : ""}`),
    one.text === null ? null : h("pre", {}, long(one.text), one.truncated ? "\n… only the beginning is kept" : ""));
}

const head = (fields) => h("pre", {}, fields.map(([name, value]) => [h("b", {}, name), ": ", value, "\n"]));

async function replay(id, n, record) {
  const rules = h("textarea", { id: "rules", rows: "6", spellcheck: "false", placeholder: '{"filters":[…],"routes":[…]} — empty: the present ones' });
  const shown = h("div", { "aria-live": "polite" });
  const run = async () => {
    let edited;
    try { edited = rules.value.trim() ? JSON.parse(rules.value) : undefined; } catch (problem) { replace(shown, note("bad", `not JSON: ${problem.message}`)); return; }
    try {
      const answer = await post(`admin/captures/${part(id)}/records/${n}/replay`, { body: edited });
      const logs = record.logs.map((one) => one.before);
      replace(shown, answer.changes.length ? note("warn", `${answer.changes.length} of ${answer.logs} logs would fare otherwise.`) : note("good", "Nothing would change."),
        answer.changes.map((one) => h("div", {}, h("h3", {}, `Log ${one.log + 1}`),
          one.destinations ? h("p", {}, `destinations: ${one.destinations.was.join(", ") || "none"} → ${one.destinations.is.join(", ") || "none"}`) : null,
          Object.keys(one.fields).length ? difference(Object.fromEntries(Object.entries(one.fields).filter(([, value]) => value.was !== null).map(([name, value]) => [name, value.was])),
            Object.fromEntries(Object.entries(one.fields).filter(([, value]) => value.is !== null).map(([name, value]) => [name, value.is]))) : null)),
        h("details", {}, h("summary", {}, "Everything"), findings(answer, logs)));
    } catch (problem) { replace(shown, note("bad", problem.message)); }
  };
  await dialog(`Replay request ${n}, dry`, h("div", {}, h("p", {}, "Shows what filters and routes would do with it now. Nothing is stored or sent."),
    field("Edited rules", rules), shown), (close) => [button("Close", () => close(null)), button("Run", run, { class: "primary" })]);
}

// Stores the logs again. The gateway refuses it when they are not kept as they came.
const send = (page, id, n, one) => change(page, "POST", `admin/captures/${part(id)}/records/${n}/replay`, {
  query: { dry: "false" },
  title: `Send request ${n} again`,
  text: `${count(one.log_count)} logs go through the present filters and routes and are stored again, with a new receipt and the tag sluice_replay. Their destinations get them twice if they have them already.`,
  done: (answer) => `queued again: ${count(answer.copies)}, receipt ${answer.receipt}`,
});

async function record(page, id, n) {
  const one = await get(`admin/captures/${part(id)}/records/${part(n)}`);
  page.title(`Capture ${id}, request ${n}`);
  const curl = async () => {
    try {
      const line = await get(`admin/captures/${part(id)}/records/${n}/curl`);
      await dialog("As a command", h("pre", {}, line), (close) => [button("Close", () => close(null)), copy(line)]);
    } catch (problem) { page.say("bad", problem.message); }
  };
  return [
    h("p", {}, h("a", { href: `#/capture/${id}` }, `Capture ${id}`), " · ", Number(n) > 1 ? h("a", { href: `#/capture/${id}/${n - 1}` }, "previous") : "first", " · ",
      h("a", { href: `#/capture/${id}/${Number(n) + 1}` }, "next")),
    h("div", { class: "row" }, h("code", {}, `${one.method} ${one.path}${one.query ? `?${one.query}` : ""}`), one.answer ? badge(one.answer.status < 400 ? "good" : "bad", one.answer.status) : null),
    h("div", { class: "actions" }, button("As curl", curl), button("Replay, dry", () => replay(id, n, one)),
      page.mayChange && one.logs.length ? button("Send again", () => send(page, id, n, one)) : null),
    pairs(["From", `${one.address}${one.key ? `, key ${one.key}` : ""}`], ["At", one.time], ["Tag", one.tag], ["Receipt", one.receipt], ["Time to answer", one.answer ? span(one.answer.milliseconds / 1000) : null]),
    h("h2", {}, "Decisions"),
    h("ol", { class: "trail" }, one.decisions.map((step) => h("li", {}, h("b", {}, step.step), `: ${step.outcome}`, step.detail ? h("div", { class: "reason" }, step.detail) : null))),
    h("h2", {}, one.logs.length < one.log_count ? `Logs, the first ${one.logs.length} of ${one.log_count}` : `Logs (${one.log_count})`),
    one.logs.map((entry, index) => h("section", { class: "card" },
      h("div", { class: "row" }, h("h3", {}, `Log ${index + 1}, tag ${entry.tag}`), entry.destinations.length ? badge("good", `to ${entry.destinations.join(", ")}`) : badge("warn", entry.reason ?? "nowhere")),
      entry.before ? difference(entry.before, entry.after ?? {}) : [h("p", { class: "quiet" }, "A filter redacts logs of this tag, so only the result is kept."), log(entry.after)])),
    one.batches.length ? table({ caption: "Batches in the queue", rows: one.batches, key: (row) => `${row.destination}/${row.logstore}`, empty: "",
      columns: [{ name: "destination", label: "Destination", cell: (row) => row.destination }, { name: "logstore", label: "Logstore", cell: (row) => row.logstore },
        { name: "topic", label: "Topic", cell: (row) => row.topic }, { name: "logs", label: "Logs", kind: "number", cell: (row) => count(row.logs) }, { name: "bytes", label: "Bytes", kind: "number", cell: (row) => bytes(row.bytes) }] }) : null,
    h("h2", {}, "On its way"),
    one.delivery === "none" ? null : pairs(["Delivery", badge(one.delivery === "delivered" ? "good" : "warn", one.delivery)],
      ["Logs", Object.entries(one.outcomes).filter(([, amount]) => amount).map(([name, amount]) => `${count(amount)} ${name}`).join(", ")],
      one.dead_letters.length ? ["Dead letters", one.dead_letters.map((letter, index) => [index ? ", " : "", h("a", { href: `#/dead-letters/${part(letter)}` }, letter)])] : null),
    table({ caption: "Attempts to deliver packets with its logs", rows: one.upstream, key: (row) => row.attempt,
      empty: one.delivery === "none" ? "Nothing of it is on its way." : "No attempt yet.",
      columns: [{ name: "attempt", label: "Attempt", cell: (row) => row.attempt }, { name: "time", label: "When", cell: (row) => time(row.time) },
        { name: "destination", label: "To", cell: (row) => [`${row.destination}/${row.logstore}`, h("div", { class: "quiet" }, `${row.endpoint}${row.address ? ` at ${row.address}` : ""}${row.resolver ? `, from ${row.resolver}` : ""}`)] },
        { name: "logs", label: "Logs", kind: "number", cell: (row) => count(row.logs) },
        { name: "result", label: "Result", cell: (row) => [badge(row.result === "stored" ? "good" : "bad", row.result), row.code ? ` ${row.code}` : "", row.message ? h("div", { class: "reason" }, row.message) : null] },
        { name: "request", label: "Request id", cell: (row) => (row.request_id ? h("code", {}, row.request_id) : "–") },
        { name: "ms", label: "Time", kind: "number", cell: (row) => span(row.milliseconds / 1000) }] }),
    one.upstream_left_out ? h("p", { class: "quiet" }, `${count(one.upstream_left_out)} more attempts are not kept.`) : null,
    h("h2", {}, "Head"), head(one.head),
    body("Body", one.body), body("Body, inflated", one.decoded),
    one.answer ? [h("h2", {}, "Answer"), head(one.answer.head), h("pre", {}, one.answer.body)] : null,
  ];
}

export const capture = {
  title: "Capture",
  view(page) {
    const [id, n] = page.words;
    if (n) return record(page, id, n);
    return id ? session(page, id) : list(page);
  },
};
