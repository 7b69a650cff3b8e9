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

const waitingAfter = 400;

/** Said when the state that an operator should check was read again. */
export const present = "This is the present state. Check it, then make the change again.";

/** What to say about a refused change. `reload` reads the present state when another operator was faster. */
export function refused(problem, reload) {
  if (problem.status !== 412) return [problem.message];
  return ["It was changed meanwhile, perhaps by another operator, so this change was not made. Reload to see the present "
    + "state; what you typed stays. ", button("Reload", reload)];
}

/**
 * Sends a change after a question, shows what was answered, and reads the page again, or goes to the address `next`.
 * With `reload`, a change that was meant for an older version offers it.
 */
export async function change(page, method, path, { title, text, typed, query, body, headers, done, next, reload } = {}) {
  const line = query ? `${path}?${new URLSearchParams(query)}` : path;
  if (title && !await confirm(title, text, { typed, curl: curlLine(method, line, body) })) return null;
  const waiting = setTimeout(() => page.say("warn", "Waiting for the gateway's answer…"), waitingAfter);
  try {
    const answer = await call(method, path, { query, body, headers });
    clearTimeout(waiting);
    page.say("good", done?.(answer) ?? "done");
    if (next) location.hash = next;
    else await page.refresh();
    return answer || true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    page.say("bad", refused(problem, async () => {
      reload?.();
      if (await page.refresh()) page.say("good", present);
    }));
    return null;
  } finally {
    clearTimeout(waiting);
  }
}

/** A button that copies a text. */
export function copy(text, label = "Copy") {
  return button(label, async (event) => {
    const shown = event.target;
    try {
      // Browsers offer it over TLS and to this machine only.
      await navigator.clipboard.writeText(text);
      shown.textContent = "Copied";
    } catch {
      shown.textContent = "Not allowed here: select the text and copy it";
    }
  });
}
