// Questions before changes, and what the gateway answered.

import { button, field, h, replace } from "./dom.js";
import { Problem, call, curlLine } from "./api.js";

/** Shows a dialog. Resolves when it closes; the focus goes back to where it was. */
export function dialog(title, content, actions) {
  return new Promise((resolve) => {
    const node = h("dialog", { "aria-labelledby": "dialog-title" });
    const close = (value) => {
      node.close();
      node.remove();
      resolve(value);
    };
    node.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    replace(node, h("h2", { id: "dialog-title" }, title), content, h("div", { class: "actions" }, actions(close)));
    document.body.append(node);
    node.showModal();
  });
}

/** Asks before a change. With `typed`, that text must be typed. */
export function confirm(title, text, { action = title, typed, curl } = {}) {
  const input = h("input", { autocomplete: "off", spellcheck: "false", id: "confirm-typed" });
  const content = h("div", {}, h("p", {}, text), typed ? field(`Type ${typed} to go on`, input) : null,
    curl ? h("details", {}, h("summary", {}, "As a command"), h("pre", {}, curl)) : null);
  return dialog(title, content, (close) => {
    const go = button(action, () => close(true), { class: typed ? "danger" : "primary", disabled: Boolean(typed) });
    input.addEventListener("input", () => { go.disabled = input.value.trim() !== typed; });
    return [button("Cancel", () => close(null)), go];
  });
}

/** Sends a change after a question, shows what was answered, and reads the page again, or goes to the address `next`. */
export async function change(page, method, path, { title, text, typed, query, body, headers, done, next } = {}) {
  const line = query ? `${path}?${new URLSearchParams(query)}` : path;
  if (title && !await confirm(title, text, { typed, curl: curlLine(method, line, body) })) return null;
  try {
    const answer = await call(method, path, { query, body, headers });
    page.say("good", done?.(answer) ?? "done");
    if (next) location.hash = next;
    else await page.refresh();
    return answer || true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    page.say("bad", problem.message);
    return null;
  }
}

/** A button that copies a text. */
export function copy(text, label = "Copy") {
  return button(label, async (event) => {
    await navigator.clipboard?.writeText(text);
    event.target.textContent = "Copied";
  });
}
