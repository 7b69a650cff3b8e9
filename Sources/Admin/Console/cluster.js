// The gateways of the cluster, their shards and ledgers, and shards without a gateway.

import { badge, bytes, count, h, note, pairs } from "./dom.js";
import { get } from "./api.js";
import { link } from "./lists.js";
import { sortOf, table } from "./table.js";

const columns = ["accepted", "delivered", "queued", "dead", "expired", "discarded"];
const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const adds = (ledger) => ledger.accepted === columns.slice(1).reduce((sum, name) => sum + ledger[name], 0);

/** All gateways: this one first, then the others as each told last. */
function gatewaysOf(state) {
  const fleet = state.queue.fleet;
  const own = { node: fleet.node, isThis: true, version: state.version, alive: true, ledger: state.ledger,
    shards: fleet.shards.map((shard) => shard.name), problem: fleet.problem ?? state.queue.problem };
  return [own, ...fleet.other_gateways];
}

/** One sentence about the cluster, and how bad it is; null without a cluster. */
export function health(state) {
  const fleet = state.queue.fleet;
  if (!fleet) return null;
  const all = gatewaysOf(state);
  const living = all.filter((one) => one.alive);
  const gone = all.length - living.length;
  const troubled = living.filter((one) => one.problem).length;
  const broken = fleet.shards.filter((shard) => shard.problem).length;
  const refused = fleet.orphans.filter((orphan) => orphan.refused_because).length;
  const parts = [`${counted(living.length, "gateway")} live${living.length === 1 ? "s" : ""}`,
    gone ? `${count(gone)} gone` : null,
    troubled ? `${count(troubled)} in trouble` : null,
    broken && !troubled ? `${counted(broken, "shard")} of this one in trouble` : null,
    fleet.orphans.length ? `${counted(fleet.orphans.length, "shard")} without a gateway` : null,
    fleet.adopting ? "one shard is being adopted" : null,
    fleet.messages_problem ? "the others cannot be heard" : null,
    all.every((one) => adds(one.ledger)) ? null : "a ledger does not add up"].filter(Boolean);
  const isBad = fleet.problem || gone || troubled || broken || refused || !all.every((one) => adds(one.ledger));
  const isNoted = fleet.orphans.length || fleet.adopting || fleet.messages_problem;
  return { kind: isBad ? "bad" : isNoted ? "warn" : "good", text: `${parts.join("; ")}.` };
}

/** Says what a list of the whole cluster lacks: gateways that did not answer, and shards without one. */
export const incomplete = (missing) => (missing?.length
  ? note("warn", `This is not complete: no answer from ${missing.join(", ")}. `, h("a", { href: "#/cluster" }, "See the cluster")) : null);

function gateways(page, state) {
  const all = gatewaysOf(state);
  const total = { node: "all", isTotal: true, shards: { length: state.queue.fleet.cluster_shards },
    ledger: Object.fromEntries(columns.map((name) => [name, all.reduce((sum, one) => sum + one.ledger[name], 0)])) };
  return h("section", {}, h("h2", {}, "Gateways"), table({
    caption: "Gateways as each told last; accepted is the sum of the next five columns",
    rows: all, total, sort: sortOf(page.params, ""), link: link(page), key: (row) => row.node, empty: "",
    columns: [
      { name: "gateway", label: "Gateway", value: (row) => row.node, cell: (row) => [row.node, row.isThis ? [" ", badge("idle", "this one")] : null] },
      { name: "version", label: "Version", value: (row) => row.version },
      { name: "state", label: "State", value: (row) => String(row.alive), cell: (row) => (row.isTotal ? "" : [
        !row.alive ? badge("bad", "gone") : row.problem ? badge("bad", "trouble") : badge("good", "lives"),
        row.problem ? h("div", { class: "reason" }, row.problem) : null]) },
      { name: "shards", label: "Shards", kind: "number", value: (row) => row.shards.length, cell: (row) => count(row.shards.length) },
      ...columns.map((name) => ({ name, label: name, kind: "number", value: (row) => row.ledger[name], cell: (row) => count(row.ledger[name]) })),
      { name: "closed", label: "Adds up", cell: (row) => (adds(row.ledger) ? badge("good", "yes") : badge("bad", "no")) },
    ] }));
}

function shards(fleet) {
  return h("section", {}, h("h2", {}, "Shards of this gateway"), table({
    caption: `Shards of ${fleet.node}: its queue, and those that it has adopted`, rows: fleet.shards, key: (row) => row.name,
    empty: "It has no shard at this moment, so it accepts no logs. It begins one when it reaches the cluster's servers.",
    columns: [
      { name: "name", label: "Shard", value: (row) => row.name, cell: (row) => h("code", {}, row.name) },
      { name: "role", label: "Role", cell: (row) => (row.role === "home" ? "home" : badge("warn", row.role)) },
      { name: "queued", label: "Queued", kind: "number", cell: (row) => count(row.queued) },
      { name: "bytes", label: "Bytes", kind: "number", cell: (row) => bytes(row.bytes) },
      { name: "epoch", label: "Epoch", kind: "number", cell: (row) => count(row.epoch) },
      { name: "log", label: "Commit log", kind: "number", cell: (row) => bytes(row.log_bytes) },
      { name: "state", label: "State", cell: (row) => (row.problem ? [badge("bad", "trouble"), h("div", { class: "reason" }, row.problem)] : badge("good", "fine")) },
    ] }));
}

/** What becomes of a shard that no gateway has. */
function fate(fleet, orphan) {
  if (orphan.shard === fleet.adopting) return [badge("warn", "being adopted"), h("div", { class: "reason" }, "This gateway reads it.")];
  if (orphan.refused_because) return [badge("bad", "not adopted"), h("div", { class: "reason" }, orphan.refused_because)];
  return [badge("warn", "waits"), h("div", { class: "reason" }, "A gateway adopts it when its last one has been silent for long enough.")];
}

const orphans = (fleet) => h("section", {}, h("h2", {}, "Shards without a gateway"), table({
  caption: "Their logs wait on the servers of the cluster", rows: fleet.orphans, key: (row) => row.shard,
  empty: "Each shard has a gateway. One whose gateway is lost would show here until another one has adopted it.",
  columns: [
    { name: "shard", label: "Shard", value: (row) => row.shard, cell: (row) => h("code", {}, row.shard) },
    { name: "state", label: "State", cell: (row) => fate(fleet, row) },
  ] }));

const counts = (fleet) => h("section", {}, h("h2", {}, "Since this gateway started"), pairs(
  ["Adoptions", `${counted(fleet.adoptions, "shard")} of lost gateways`],
  ["Absorptions", `${counted(fleet.absorptions, "emptied shard")} became a part of another one`],
  ["Losses", `${counted(fleet.losses, "shard")} of this gateway that another one took`],
  ["Replacements", `${counted(fleet.replacements, "home shard")} that could not be written`],
  ["Late acknowledgements", `${counted(fleet.late_acknowledgements, "packet")}, perhaps delivered twice`],
  ["Recognised repeats", `${counted(fleet.recognised_repeats, "request")} that another gateway had stored`],
  ["Untold repeats", `${counted(fleet.untold_repeats, "request")} that the others were not told of`]));

export const cluster = {
  title: "Cluster",
  async view(page) {
    const state = await get("admin/status");
    const fleet = state.queue.fleet;
    const { kind, text } = health(state);
    return [
      note(kind, h("strong", {}, text)),
      fleet.problem ? note("bad", `The cluster cannot be reached: ${fleet.problem}`) : null,
      fleet.messages_problem ? note("warn", `The other gateways cannot be heard: ${fleet.messages_problem}`) : null,
      fleet.adopting ? note("warn", "This gateway adopts the shard ", h("code", {}, fleet.adopting), " now.") : null,
      gateways(page, state),
      shards(fleet),
      orphans(fleet),
      counts(fleet),
    ];
  },
};
