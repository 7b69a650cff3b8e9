// Dead letters: logs that cannot be delivered as they are. View, edit, send again, export, delete.

import { badge, button, bytes, count, difference, field, h, inertJSON, log, note, pairs, replace, time } from "./dom.js";
import { Problem, call, get, part } from "./api.js";
import { incomplete } from "./cluster.js";
import { change, dialog } from "./dialog.js";
import { table } from "./table.js";

const filters = ["destination", "logstore", "code"];
// What is selected on the page outlives its updates.
let selection = new Set();

const filterOf = (page) => Object.fromEntries(filters.filter((name) => page.params.get(name)).map((name) => [name, page.params.get(name)]));
const address = (filter) => `#/dead-letters?${new URLSearchParams(filter)}`;
const times = (number) => (number === 1 ? "once" : `${count(number)} times`);
const inWords = (filter) => Object.entries(filter).map(([name, value]) => `${name} ${value}`).join(", ") || "all";

function act(page, verb, query, amount, what, next) {
  const text = verb === "replay"
    ? `${count(amount)} dead letters (${what}) go into the queue again, for the destination and logstore that they had.`
    : `${count(amount)} dead letters (${what}) are deleted for good. Export them first if somebody may want them.`;
  return change(page, "POST", `admin/dead-letters/${verb}`, { query, title: verb === "replay" ? "Replay dead letters" : "Delete dead letters", text,
    typed: verb === "purge" ? String(amount) : undefined, next,
    done: (answer) => `${count(answer.replayed ?? answer.purged)} ${verb === "replay" ? "are in the queue again" : "are deleted"}`
      + (answer.unreadable ? `; ${count(answer.unreadable)} are damaged on disk` : "") });
}

function sums(page, all, filter) {
  return table({ caption: "By destination and reason", rows: all, key: (row) => `${row.destination}/${row.code}`,
    empty: "There are no dead letters. A log that SLS refuses for good would show here, with its reason.",
    columns: [
      { name: "code", label: "Reason", cell: (row) => h("a", { href: address({ destination: row.destination, code: row.code }) }, row.code) },
      { name: "destination", label: "Destination", cell: (row) => row.destination },
      { name: "letters", label: "Letters", kind: "number", cell: (row) => count(row.letters) },
      { name: "bytes", label: "Bytes", kind: "number", cell: (row) => bytes(row.bytes) },
      { name: "latest", label: "Latest", cell: (row) => time(row.latest) },
      page.mayChange ? { name: "actions", label: "Actions", cell: (row) => {
        const query = { destination: row.destination, code: row.code };
        return h("div", { class: "actions" }, button("Replay all", () => act(page, "replay", query, row.letters, inWords(query))),
          h("a", { href: exportOf(query), download: "dead-letters.ndjson" }, "Export"),
          button("Delete…", () => act(page, "purge", query, row.letters, inWords(query)), { class: "danger" }));
      } } : null,
    ] });
}

const exportOf = (query) => `../admin/dead-letters/export?${new URLSearchParams({ ...query, limit: "1000" })}`;

async function list(page) {
  const filter = filterOf(page);
  const after = page.params.get("after");
  const shown = await get("admin/dead-letters", { ...filter, after, limit: 50 });
  const { dead_letters: letters, next, missing } = shown;
  // Only the first page has the sums.
  const all = after ? (await get("admin/dead-letters", { limit: 1 })).sums : shown.sums;
  selection = new Set([...selection].filter((id) => letters.some((letter) => letter.id === id)));
  const ids = () => ({ ids: [...selection].join(",") });
  const toggle = (id) => (event) => {
    if (event.target.checked) selection.add(id);
    else selection.delete(id);
    page.refresh();
  };
  return [
    incomplete(missing),
    sums(page, all, filter),
    all.length ? [
      h("h2", {}, Object.keys(filter).length ? `Letters: ${inWords(filter)}` : "Letters"),
      h("div", { class: "actions" }, Object.keys(filter).length ? h("a", { href: "#/dead-letters" }, "all") : null,
        page.mayChange ? button(`Replay ${selection.size} selected`, () => act(page, "replay", ids(), selection.size, "the selected"), { disabled: !selection.size }) : null,
        page.mayChange ? button(`Delete ${selection.size} selected…`, () => act(page, "purge", ids(), selection.size, "the selected"), { disabled: !selection.size, class: "danger" }) : null),
      table({ caption: "Dead letters, oldest first", rows: letters, key: (row) => row.id, empty: "None suits.",
        columns: [
          page.mayChange ? { name: "select", label: "Select", cell: (row) => h("input", { type: "checkbox", "aria-label": `Select ${row.id}`, checked: selection.has(row.id), onchange: toggle(row.id) }) } : null,
          { name: "id", label: "Letter", cell: (row) => h("a", { href: `#/dead-letters/${part(row.id)}` }, row.id) },
          { name: "code", label: "Reason", cell: (row) => [h("b", {}, row.code), h("div", { class: "reason" }, row.message)] },
          { name: "replays", label: "Replayed", kind: "number", cell: (row) => (row.replays ? times(row.replays) : "–") },
          { name: "place", label: "Place", cell: (row) => `${row.destination}/${row.logstore}` },
          { name: "died", label: "Died", cell: (row) => time(row.died) },
          { name: "log", label: "Log", cell: (row) => (row.log ? h("div", { class: "clip" }, log(row.log)) : badge("bad", "damaged on disk")) },
        ] }),
      h("div", { class: "actions" }, after ? h("a", { href: address(filter) }, "first") : null,
        next ? h("a", { href: address({ ...filter, after: next }) }, "next 50") : null),
    ] : null,
  ];
}

function edit(page, letter) {
  const text = h("textarea", { id: "edited", rows: "10", spellcheck: "false" });
  text.value = inertJSON(letter.log, 2);
  const logstore = h("input", { id: "logstore", value: letter.logstore, spellcheck: "false" });
  const shown = h("div", { "aria-live": "polite" });
  const read = () => {
    const log = JSON.parse(text.value);
    if (typeof log !== "object" || log === null || Array.isArray(log)) throw new Error("a log is an object");
    return Object.fromEntries(Object.entries(log).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
  };
  const compare = () => {
    try { replace(shown, difference(letter.log, read())); } catch (problem) { replace(shown, note("bad", problem.message)); }
  };
  text.addEventListener("input", compare);
  compare();
  return dialog(`Edit dead letter ${letter.id}`, h("div", {}, field("Log", text), field("Logstore", logstore), shown), (close) => {
    const save = async (replays) => {
      try {
        const body = read();
        await call("PUT", `admin/dead-letters/${part(letter.id)}`, { body, query: logstore.value !== letter.logstore ? { logstore: logstore.value } : {} });
        if (replays) await call("POST", "admin/dead-letters/replay", { query: { ids: letter.id } });
        close(true);
        page.say("good", replays ? `letter ${letter.id} is in the queue again` : `letter ${letter.id} is changed`);
        if (replays) location.hash = "#/dead-letters";
        else page.refresh();
      } catch (problem) { replace(shown, note("bad", problem.message)); }
    };
    return [button("Cancel", () => close(null)), button("Save", () => save(false)), button("Save and replay", () => save(true), { class: "primary" })];
  });
}

async function one(page, id) {
  page.title(`Dead letter ${id}`);
  const letter = await get(`admin/dead-letters/${part(id)}`);
  return [
    h("p", {}, h("a", { href: "#/dead-letters" }, "All dead letters")),
    note("bad", h("strong", {}, letter.code), ": ", letter.message),
    pairs(["Place", `${letter.destination}/${letter.logstore}`], ["Topic", letter.topic], ["Source", letter.source],
      ["Tags", Object.entries(letter.tags).map(([name, value]) => `${name}:${value}`).join(", ") || "none"],
      letter.replays ? ["Replayed", [`${times(letter.replays)}, last `, time(letter.last_replay)]] : ["Accepted", time(letter.accepted)], ["Died", time(letter.died)],
      ["Captured", letter.captures.length ? letter.captures.map((one, index) => [index ? ", " : "", h("a", { href: `#/capture/${one.id}/${one.record}` }, `${one.id}, request ${one.record}`)]) : "in no capture"], ["SLS's request id", letter.request_id ?? "none"], ["Bytes", bytes(letter.bytes)]),
    letter.log ? h("div", { class: "card" }, log(letter.log)) : note("bad", "The log is damaged on disk."),
    page.mayChange ? h("div", { class: "actions" },
      letter.log ? button("Edit…", () => edit(page, letter)) : null,
      button("Replay", () => act(page, "replay", { ids: letter.id }, 1, `letter ${id}`, "#/dead-letters")),
      button("Delete…", () => act(page, "purge", { ids: letter.id }, 1, `letter ${id}`, "#/dead-letters"), { class: "danger" })) : null,
  ];
}

export const deadLetters = {
  title: "Dead letters",
  view: (page) => (page.words[0] ? one(page, page.words[0]) : list(page)),
};
