// Credentials: how long they last, and a new one: paste, test, activate.

import { badge, button, field, h, note, pairs, replace, span, time } from "./dom.js";
import { Problem, call, get, getVersion, only, part } from "./api.js";
import { change, dialog, present, refused } from "./dialog.js";

const kinds = { ok: "good", refreshing: "good", expiring: "warn", expired: "bad", missing: "bad", refused: "bad" };

function countdown(one) {
  if (one.seconds_left === null) return "it does not expire";
  const day = 86400;
  const share = Math.max(0, Math.min(100, (one.seconds_left / day) * 100));
  return [h("span", { class: `meter ${one.seconds_left < 300 ? "bad" : one.seconds_left < 3600 ? "warn" : ""}`, role: "img",
    "aria-label": `${span(one.seconds_left)} left` }, h("span", { "width%": share })),
  one.seconds_left > 0 ? ` ${span(one.seconds_left)} left` : ` expired ${span(one.seconds_left)} ago`];
}

const inUse = (one) => (one.fingerprint ? ["It replaces the one with fingerprint ", h("code", {}, one.fingerprint), "."]
  : "There is none now.");

/** Reads the credential that a change is for, and its version; shows a problem on the page. */
async function read(page, path) {
  try {
    return await getVersion(path);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    page.say("bad", problem.message);
    return null;
  }
}

async function forget(page, one, path) {
  const now = await read(page, path);
  if (!now) return;
  await change(page, "DELETE", path, { title: `Forget ${one.name}`, headers: only(now.version),
    text: `The configured source is used again, in place of the one with fingerprint ${now.data.fingerprint ?? "–"}.`,
    done: () => "the configured source is in use" });
}

async function rotate(page, one) {
  const text = h("textarea", { id: "new-credential", rows: "7", autocomplete: "off", spellcheck: "false",
    placeholder: '{"AccessKeyId":"…","AccessKeySecret":"…","SecurityToken":"…","Expiration":"…"}' });
  const told = h("div", { "aria-live": "polite" });
  const path = `admin/credentials/${part(one.name)}`;
  let now = await read(page, path);
  if (!now) return;
  const replaced = h("p", {}, inUse(now.data));
  const reload = async () => {
    try {
      now = await getVersion(path);
      replace(replaced, inUse(now.data));
      replace(told, note("good", present));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      replace(told, note("bad", problem.message));
    }
  };
  await dialog(`New credential for ${one.name}`, h("div", {}, replaced,
    field("The answer of STS, or the same members in snake case", text, "It is sent to this gateway only, and never shown again."), told),
  (close) => {
    let isSending = false;
    const send = async (force) => {
      if (isSending) return;
      let body;
      try { body = JSON.parse(text.value); } catch (problem) { replace(told, note("bad", `not JSON: ${problem.message}`)); return; }
      replace(told, note("warn", force ? "Putting it in use…" : "Asking SLS whether it accepts it…"));
      isSending = true;
      try {
        const answer = await call("PUT", path, { body, headers: only(now.version), query: force ? { force: "true" } : {} });
        text.value = "";
        close(true);
        const kept = answer.stored ? "" : `; it is lost at a restart: ${answer.not_stored_because}`;
        page.say("good", `${one.name}: ${answer.proved ? "SLS accepts it, and it is in use" : "in use, not proved"}${kept}`);
        page.refresh();
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        replace(told, note("bad", refused(problem, reload)), problem.status === 422 || problem.status === 502
          ? button("Use it all the same", () => send(true), { class: "danger" }) : null);
      } finally {
        isSending = false;
      }
    };
    return [button("Cancel", () => { text.value = ""; close(null); }), button("Test and activate", () => send(false), { class: "primary" })];
  });
}

function card(page, one) {
  const path = `admin/credentials/${part(one.name)}`;
  return h("section", { class: "card", "data-key": one.name },
    h("div", { class: "row" }, h("h2", {}, one.name), badge(kinds[one.state] ?? "warn", one.state)),
    one.last_problem ? note("bad", one.last_problem) : null,
    pairs(["Source", `${one.source}${one.pushed ? ", pushed at run time" : ""}`], ["Key", one.access_key_id ? h("code", {}, one.access_key_id) : "none"],
      ["Fingerprint", one.fingerprint ? h("code", {}, one.fingerprint) : null], ["Expires", countdown(one)],
      ["Next", one.next ? [h("code", {}, one.next.fingerprint), " from ", time(one.next.activation)] : null],
      ["Kept", one.kept ? `${one.kept}${one.kept_reason ? `: ${one.kept_reason}` : ""}` : null],
      ["Last read", one.last_refresh ? time(one.last_refresh) : null], ["Next try", one.next_try ? time(one.next_try) : null]),
    page.mayChange ? h("div", { class: "actions" },
      button("Verify", () => change(page, "POST", `${path}/verify`, { done: (answer) => `${one.name}: ${answer.verdict ?? "no destination uses it"}` })),
      button("Replace…", () => rotate(page, one)),
      one.pushed ? button("Forget the pushed one", () => forget(page, one, path)) : null) : null);
}

export const credentials = {
  title: "Credentials",
  async view(page) {
    const { credentials: all } = await get("admin/credentials");
    return all.length ? h("div", { class: "cards" }, all.map((one) => card(page, one)))
      : h("p", { class: "empty" }, "No credential is configured: no destination of kind sls needs one.");
  },
};
