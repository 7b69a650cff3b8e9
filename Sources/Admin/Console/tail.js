// Logs as they are accepted.

import { badge, button, bytes, count, field, h, log, replace } from "./dom.js";
import { Problem, get } from "./api.js";

const rowsMax = 500;
// Logs a second that the gateway sends at most. Nobody reads more, and writing them would cost it.
const rateUsual = "200";
// The gateway tells each second what it leaves out.
const sampledFor = 2500;
const reopenAfter = 5000;
// A row for each log would make a fast tail slower than the logs.
const perFrame = 60;
const drawEvery = 100;

/** Why the gateway refuses the stream; null when it does not answer. A session that is over asks for the login. */
async function refusal(query) {
  try {
    await get("admin/session");
    // Only a refusal is short: a stream would be ended here.
    const ended = new AbortController();
    const answer = await fetch(`../admin/tail?${query}`, { credentials: "same-origin", signal: ended.signal });
    const said = answer.ok ? null : (await answer.json()).error?.message;
    ended.abort();
    return said ?? null;
  } catch (problem) {
    return problem instanceof Problem && problem.status ? problem.message : null;
  }
}

export const tail = {
  title: "Live tail",
  isStill: true,
  async view(page) {
    const wanted = ["destination", "logstore", "topic", "tag", "field", "rate"];
    const inputs = Object.fromEntries(wanted.map((name) => [name, h("input", { id: `tail-${name}`,
      value: page.params.get(name) ?? "", spellcheck: "false", autocomplete: "off" })]));
    const list = h("ol", { class: "tail", role: "log", "aria-live": "off", "aria-label": "Accepted logs", tabindex: "0" });
    const told = h("span", { role: "status", class: "quiet" });
    const state = h("span");
    const waiting = [];
    let [seen, missed, left, isPaused, isDue] = [0, 0, 0, false, false];
    // What the gateway chose of each second; null when it sends all that match.
    let sampled = null;
    let ofSampled = 0;

    const say = () => replace(told, `${count(seen)} seen`, sampled ? `, showing ${sampled}` : "", missed ? `, ${count(missed)} missed by this viewer` : "",
      left ? `, ${count(left)} not shown` : "", isPaused ? `, ${count(waiting.length)} wait` : "");
    const draw = () => {
      isDue = false;
      if (isPaused) return say();
      const rows = waiting.splice(0).map(({ text, at }) => {
        const one = JSON.parse(text);
        return h("li", {}, h("span", { class: "quiet" }, `${new Date(at).toLocaleTimeString("en-GB")} `),
          h("span", { class: "place" }, `${one.logstore}${one.topic ? ` · ${one.topic}` : ""} `), log(one.log),
          one.cut ? h("span", { class: "quiet" }, `cut: the log has ${bytes(one.cut.bytes)}`
            + (one.cut.fields ? `, ${count(one.cut.fields)} more fields` : "")) : null);
      });
      // Do not scroll a reader who has scrolled up.
      const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
      list.append(...rows);
      while (list.childElementCount > rowsMax) list.firstElementChild.remove();
      if (isAtEnd) list.scrollTop = list.scrollHeight;
      say();
      return null;
    };
    const take = (text) => {
      seen += 1;
      if (waiting.length >= (isPaused ? rowsMax : perFrame)) { left += 1; waiting.shift(); }
      // Most of a fast tail is never shown, so it is not even read.
      waiting.push({ text, at: Date.now() });
      if (!isDue) { isDue = true; setTimeout(() => requestAnimationFrame(draw), drawEvery); }
    };

    const choose = ({ matched, shown, milliseconds }) => {
      const perSecond = (logs) => count((logs * 1000) / milliseconds);
      sampled = `${perSecond(shown)} of ${perSecond(matched)} a second`;
      clearTimeout(ofSampled);
      ofSampled = setTimeout(() => { sampled = null; say(); }, sampledFor);
      say();
    };

    const query = new URLSearchParams(wanted.filter((name) => page.params.get(name))
      .map((name) => [name, page.params.get(name)]));
    if (!query.has("rate")) query.set("rate", rateUsual);
    let source = null;
    let reopening = 0;
    const open = () => {
      source = new EventSource(`../admin/tail?${query}`);
      source.onopen = () => replace(state, badge("good", "follows"));
      source.onerror = async () => {
        replace(state, badge("bad", "no connection"));
        // A refused stream is closed for good, and does not say why.
        if (source.readyState !== EventSource.CLOSED) return;
        const why = await refusal(query);
        if (page.ended.signal.aborted) return;
        if (why) replace(state, badge("bad", why));
        reopening = setTimeout(open, reopenAfter);
      };
      source.onmessage = (event) => take(event.data);
      source.addEventListener("missed", (event) => { missed += JSON.parse(event.data).logs; say(); });
      source.addEventListener("sampled", (event) => choose(JSON.parse(event.data)));
    };
    open();
    page.ended.signal.addEventListener("abort", () => {
      source.close();
      clearTimeout(reopening);
      clearTimeout(ofSampled);
    });

    const pause = button("Pause", () => {
      isPaused = !isPaused;
      pause.textContent = isPaused ? "Go on" : "Pause";
      if (!isPaused) draw();
    });
    const form = h("form", { class: "filters", onsubmit: (event) => {
      event.preventDefault();
      const params = new URLSearchParams(wanted.filter((name) => inputs[name].value.trim())
        .map((name) => [name, inputs[name].value.trim()]));
      location.hash = `#/tail?${params}`;
    } },
    field("Destination", inputs.destination), field("Logstore", inputs.logstore), field("Topic", inputs.topic),
    field("Tag", inputs.tag, "NAME or NAME:VALUE"), field("Field", inputs.field, "level:error"),
    field("Rate", inputs.rate, `logs a second at most; ${rateUsual} unless given`),
    h("button", { class: "primary" }, "Filter"));
    replace(page.content,
      h("div", { class: "actions" }, pause, button("Clear", () => { list.replaceChildren(); [seen, missed, left] = [0, 0, 0]; say(); }), state, told),
      form, list);
    page.content.removeAttribute("aria-busy");
    say();
    return null;
  },
};
