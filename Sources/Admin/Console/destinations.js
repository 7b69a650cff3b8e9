// All destinations, and one of them with its settings.

import { badge, button, bytes, count, field, h, note, pairs, span, time } from "./dom.js";
import { get, getVersion, only, part } from "./api.js";
import { change } from "./dialog.js";
import { sortOf, table } from "./table.js";

const kinds = { fine: "good", held: "idle", failing: "warn", paused: "bad", waiting_for_credential: "bad", stopped: "idle" };
const words = { held: "paused by an operator", waiting_for_credential: "waits for a credential" };

export const state = (one) => (one.state ? badge(kinds[one.state] ?? "warn", words[one.state] ?? one.state)
  : badge("warn", "not configured"));

function actions(page, one) {
  if (!page.mayChange || !one.state) return null;
  const path = `admin/destinations/${part(one.name)}`;
  const wait = count(one.ledger.queued);
  return h("div", { class: "actions" },
    one.state === "held"
      ? button("Resume", () => change(page, "POST", `${path}/resume`, { done: () => `${one.name} sends again` }))
      : button("Pause", () => change(page, "POST", `${path}/pause`, { title: `Pause ${one.name}`,
        text: `Its logs wait in the queue until it is resumed, also after a restart. ${wait} wait now.`,
        done: () => `${one.name} is paused` })),
    button("Flush", () => change(page, "POST", `${path}/flush`, { done: () => `packets of ${one.name} are sent now` })),
    button("Test", () => change(page, "POST", `${path}/test`, { done: (test) => `${test.destination}: ${test.message}` })));
}

async function list(page) {
  const { destinations } = await get("admin/destinations");
  const sort = sortOf(page.params, "name");
  return table({
    caption: "Destinations", rows: destinations.map((one) => one.status), sort, key: (row) => row.name,
    link: ({ by, down }) => `#/destinations?sort=${down ? "-" : ""}${by}`, empty: "No destination is configured.",
    columns: [
      { name: "name", label: "Name", value: (row) => row.name,
        cell: (row) => h("a", { href: `#/destinations/${part(row.name)}` }, row.name) },
      { name: "kind", label: "Kind", value: (row) => row.kind },
      { name: "state", label: "State", value: (row) => row.state, cell: (row) => [state(row), row.trouble ? h("div", { class: "reason" }, row.trouble) : null] },
      { name: "queued", label: "Waiting", kind: "number", value: (row) => row.ledger.queued, cell: (row) => count(row.ledger.queued) },
      { name: "oldest", label: "Oldest", kind: "number", value: (row) => row.queue.oldest_seconds ?? 0, cell: (row) => span(row.queue.oldest_seconds) },
      { name: "bytes", label: "Bytes", kind: "number", value: (row) => row.queue.bytes, cell: (row) => bytes(row.queue.bytes) },
      { name: "delivered", label: "Delivered", kind: "number", value: (row) => row.ledger.delivered, cell: (row) => count(row.ledger.delivered) },
      { name: "success", label: "Last success", value: (row) => row.delivery.last_success ?? "", cell: (row) => time(row.delivery.last_success) },
      page.mayChange ? { name: "actions", label: "Actions", cell: (row) => actions(page, row) } : null,
    ],
  });
}

const shown = (value) => (value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));

async function one(page, name) {
  const path = `admin/destinations/${part(name)}`;
  const [{ data: { settings, decided, status }, version }, { values }] = await Promise.all([
    getVersion(path), get("admin/configuration")]);
  // A group shows where its first setting was given.
  const origin = (key) => values.find((row) => row.key === `destinations.${name}.${key}`
    || row.key.startsWith(`destinations.${name}.${key}.`))?.origin ?? "default";
  page.title(`Destination ${name}`);
  const error = status.last_error;
  // A change is for the settings that were shown when its typing began, though the page reads newer ones meanwhile.
  const patch = h("textarea", { id: "patch", rows: "4", spellcheck: "false", placeholder: '{"packet":{"logs":1000}}',
    oninput: (event) => { page.typedFor = event.target.value ? page.typedFor ?? version : null; } });
  const reload = () => { page.typedFor = null; };
  return [
    h("p", {}, h("a", { href: "#/destinations" }, "All destinations")),
    h("div", { class: "row" }, state(status), actions(page, status)),
    status.trouble ? note("bad", status.trouble, error?.remedy ? `; ${error.remedy}` : "") : null,
    status.notice ? note("warn", status.notice) : null,
    pairs(["Sends to", `${status.project ? `${status.project}/${status.logstore} at ` : ""}${status.endpoint}`],
      ["Address", status.address ? `${status.address}${status.resolver ? `, from resolver ${status.resolver}` : ""}` : "found by the system"],
      ["Waiting", `${count(status.ledger.queued)} logs, ${bytes(status.queue.bytes)}, oldest ${span(status.queue.oldest_seconds)}`],
      ["Delivered", `${count(status.ledger.delivered)} logs, last ${status.delivery.last_success ?? "never"}`],
      ["In flight", `${status.delivery.in_flight} of ${status.delivery.limit} requests`],
      ["Next attempt", status.next_attempt ? time(status.next_attempt) : null],
      ["Last error", error ? [h("code", {}, error.kind), " ", error.error, "; ", error.remedy, " ", time(error.time)] : "none"]),
    h("p", { class: "actions" }, h("a", { href: `#/queue?destination=${part(name)}` }, "its queue"),
      h("a", { href: `#/dead-letters?destination=${part(name)}` }, "its dead letters"), h("a", { href: `#/tail?destination=${part(name)}` }, "follow it")),
    h("h2", {}, "Logstores"),
    table({ caption: "Logstores with logs now or lately", rows: status.outlets, key: (row) => row.logstore, empty: "Nothing was sent yet.",
      columns: [{ name: "logstore", label: "Logstore", value: (row) => row.logstore },
        { name: "state", label: "State", cell: (row) => [badge(kinds[row.state] ?? "idle", row.state), row.trouble ? h("div", { class: "reason" }, row.trouble) : null] },
        { name: "queued", label: "Waiting", kind: "number", cell: (row) => count(row.queued_logs) },
        { name: "sent", label: "Sent", kind: "number", cell: (row) => count(row.sent_logs) },
        { name: "failures", label: "Failures", kind: "number", cell: (row) => count(row.failures) }] }),
    h("h2", {}, "Settings"),
    page.mayChange ? h("form", { onsubmit: (event) => {
      event.preventDefault();
      const typed = document.getElementById("patch");
      let body;
      try { body = JSON.parse(typed.value); } catch (problem) { page.say("bad", `not JSON: ${problem.message}`); return; }
      change(page, "PATCH", path, { title: `Change ${name}`, text: "The settings take effect at once and survive a restart.", body,
        headers: only(page.typedFor ?? version), reload,
        done: () => {
          typed.value = "";
          page.typedFor = null;
          return "the settings are in force";
        } });
    } }, field("Change settings", patch, "a JSON object; null returns a setting to the configuration file"),
    h("div", { class: "actions" }, h("button", { class: "primary" }, "Change"),
      Object.keys(decided).length ? button("Return all to the file", () => change(page, "DELETE", path,
        { title: `Reset ${name}`, text: "All settings return to the configuration file.", headers: only(version), reload,
          done: () => "the file decides again" })) : null)) : null,
    table({ caption: "Settings in force", rows: Object.entries(settings), key: ([key]) => key, empty: "",
      columns: [{ name: "key", label: "Setting", value: ([key]) => key }, { name: "value", label: "Value", cell: ([, value]) => h("code", {}, shown(value)) },
        { name: "origin", label: "Origin", cell: ([key]) => (key in decided ? badge("warn", "decided at run time") : origin(key)) }] }),
  ];
}

export const destinations = {
  title: "Destinations",
  view: (page) => (page.words[0] ? one(page, page.words[0]) : list(page)),
};
