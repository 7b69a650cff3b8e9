// Logs as they are accepted.

import { badge, button, count, field, h, log, replace } from "./dom.js";

const rowsMax = 500;
// A row for each log would make a fast tail slower than the logs.
const perFrame = 60;
const drawEvery = 100;

export const tail = {
  title: "Live tail",
  isStill: true,
  async view(page) {
    const wanted = ["destination", "logstore", "topic", "tag", "field"];
    const inputs = Object.fromEntries(wanted.map((name) => [name, h("input", { id: `tail-${name}`,
      value: page.params.get(name) ?? "", spellcheck: "false", autocomplete: "off" })]));
    const list = h("ol", { class: "tail", role: "log", "aria-live": "off", "aria-label": "Accepted logs", tabindex: "0" });
    const told = h("span", { role: "status", class: "quiet" });
    const state = h("span");
    const waiting = [];
    let [seen, missed, left, isPaused, isDue] = [0, 0, 0, false, false];

    const say = () => replace(told, `${count(seen)} seen`, missed ? `, ${count(missed)} missed by this viewer` : "",
      left ? `, ${count(left)} not shown` : "", isPaused ? `, ${count(waiting.length)} wait` : "");
    const draw = () => {
      isDue = false;
      if (isPaused) return say();
      const rows = waiting.splice(0).map(({ text, at }) => {
        const one = JSON.parse(text);
        return h("li", {}, h("span", { class: "quiet" }, `${new Date(at).toLocaleTimeString("en-GB")} `),
          h("span", { class: "place" }, `${one.logstore}${one.topic ? ` · ${one.topic}` : ""} `), log(one.log));
      });
      list.append(...rows);
      while (list.childElementCount > rowsMax) list.firstElementChild.remove();
      list.scrollTop = list.scrollHeight;
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

    const query = new URLSearchParams(wanted.filter((name) => page.params.get(name))
      .map((name) => [name, page.params.get(name)]));
    const source = new EventSource(`../admin/tail?${query}`);
    source.onopen = () => replace(state, badge("good", "follows"));
    source.onerror = () => replace(state, badge("bad", "no connection"));
    source.onmessage = (event) => take(event.data);
    source.addEventListener("missed", (event) => { missed += JSON.parse(event.data).logs; say(); });
    page.ended.signal.addEventListener("abort", () => source.close());

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
    h("button", { class: "primary" }, "Filter"));
    replace(page.content,
      h("div", { class: "actions" }, pause, button("Clear", () => { list.replaceChildren(); [seen, left] = [0, 0]; say(); }), state, told),
      form, list);
    page.content.removeAttribute("aria-busy");
    say();
    return null;
  },
};
