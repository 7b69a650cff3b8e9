// What filters and routes do with logs, while one types.

import { badge, difference, field, h, note, replace } from "./dom.js";
import { Problem, get, post } from "./api.js";

const wait = 300;

function step(one) {
  return h("li", {}, h("code", {}, JSON.stringify(one.does)), " ", one.logs.map((effect) => [
    badge(effect.effect === "failed" ? "bad" : effect.effect === "dropped" ? "warn" : effect.effect === "changed" ? "good" : "idle",
      `log ${effect.log + 1} ${effect.effect.replaceAll("_", " ")}${effect.reason ? `: ${effect.reason}` : ""}${effect.tag ? ` ${effect.tag}` : ""}`), " "]));
}

function result(log, index, before) {
  return h("section", { class: "card" }, h("h3", {}, `Log ${index + 1}, tag ${log.tag}`),
    log.refused ? note("bad", `The request is refused: ${log.refused.message}`) : null,
    log.dead_letter ? note("warn", `A dead letter: ${log.dead_letter.message}`) : null,
    log.dropped_by ? note("warn", `Dropped by ${log.dropped_by}.`) : null,
    h("ul", { class: "places" }, log.destinations.map((place) => h("li", {},
      badge(place.outcome === "stored" ? "good" : place.outcome === "passed_over" ? "idle" : "warn", place.outcome.replaceAll("_", " ")),
      ` ${place.name}${place.logstore ? `/${place.logstore}` : ""}${place.topic ? `, topic ${place.topic}` : ""}: ${place.why}`))),
    before ? difference(before, log.dropped_by ? {} : log.fields) : null);
}

/** The answer of the tester, or of a replay. */
export function findings(answer, logs = []) {
  const text = (log) => log && Object.fromEntries(Object.entries(log).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
  return [
    answer.notes.map((one) => note("warn", one)),
    answer.filters.length ? [h("h3", {}, "Filters that match"), h("ol", { class: "steps" }, answer.filters.map((filter) =>
      h("li", {}, h("b", {}, filter.name), filter.captured ? ` (the wildcard took ${filter.captured})` : "", h("ol", {}, filter.steps.map(step)))))]
      : h("p", { class: "empty" }, "No filter matches this tag."),
    answer.results.map((log, index) => result(log, index, text(logs[index]))),
    answer.near_misses.length ? [h("h3", {}, "Patterns that almost match"), h("ul", {}, answer.near_misses.map((one) =>
      h("li", {}, h("code", {}, one.match), `: ${one.why}`)))] : null,
  ];
}

function rules({ filters, routes, unrouted }) {
  const line = (one, name) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, h("code", {}, (one.match ?? []).join(" "))),
    h("td", {}, h("code", {}, JSON.stringify(one.steps ?? one.to ?? one))), h("td", {}, one.last ? "last" : one.on_error ?? ""));
  return h("details", { open: true }, h("summary", {}, `${filters.length} filter${filters.length === 1 ? "" : "s"}, ${routes?.length ?? "no"} routes; a log without a route: ${unrouted}`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rules" }, h("table", {}, h("caption", { class: "quiet" }, "Filters and routes in force"),
      h("thead", {}, h("tr", {}, ["Rule", "Matches", "Does", ""].map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, filters.map((one) => line(one, one.name)), (routes ?? []).map((one, index) => line(one, `routes[${index}]`))))));
}

export const routes = {
  title: "Routes",
  isStill: true,
  async view(page) {
    const present = await get("admin/routes");
    const tag = h("input", { id: "tag", value: page.params.get("tag") ?? "app.home", spellcheck: "false", autocomplete: "off" });
    const text = h("textarea", { id: "logs", rows: "8", spellcheck: "false" });
    text.value = page.params.get("logs") ?? '{"level":"error","message":"hello"}';
    const answer = h("div", { id: "answer", "aria-live": "polite" });
    let timer;
    let asked = 0;
    const ask = async () => {
      asked += 1;
      const turn = asked;
      let logs;
      try {
        const read = JSON.parse(text.value || "{}");
        logs = Array.isArray(read) ? read : [read];
      } catch (problem) { replace(answer, note("warn", `not JSON yet: ${problem.message}`)); return; }
      // The address holds the question, so that it can be shared. Nothing is stored.
      history.replaceState(null, "", `#/routes?${new URLSearchParams({ tag: tag.value, logs: text.value })}`);
      try {
        const found = await post("admin/routes/test", { body: { tag: tag.value, logs } });
        // An answer to an earlier question may come later.
        if (turn === asked) replace(answer, findings(found, logs));
      } catch (problem) {
        if (turn !== asked) return;
        if (!(problem instanceof Problem)) throw problem;
        replace(answer, note("bad", problem.message));
      }
    };
    const soon = () => { clearTimeout(timer); timer = setTimeout(ask, wait); };
    tag.addEventListener("input", soon);
    text.addEventListener("input", soon);
    // The address is another screen's then.
    page.ended.signal.addEventListener("abort", () => clearTimeout(timer));
    replace(page.content, rules(present), h("h2", {}, "Try it"),
      h("div", { class: "split" }, h("div", {}, field("Tag", tag), field("Log, or a list of logs", text, "Nothing is stored, sent or counted.")), answer));
    page.content.removeAttribute("aria-busy");
    ask();
    return null;
  },
};
