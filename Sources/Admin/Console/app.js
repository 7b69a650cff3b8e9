// The frame around the screens: login, navigation, refreshing, notices.

import { badge, button, field, h, note, replace, time, update, visible } from "./dom.js";
import { Problem, call, events } from "./api.js";
import { audit, configuration, refusals } from "./lists.js";
import { capture } from "./capture.js";
import { cluster } from "./cluster.js";
import { clients, resolvers } from "./hosts.js";
import { credentials } from "./credentials.js";
import { deadLetters } from "./letters.js";
import { destinations } from "./destinations.js";
import { queue } from "./queue.js";
import { routes } from "./routes.js";
import { status } from "./status.js";
import { tail } from "./tail.js";

const screens = {
  status, cluster, tail, destinations, credentials, queue, "dead-letters": deadLetters, capture, refusals, routes,
  resolvers, clients, configuration, audit,
};
const refreshEvery = 5000;
const staleAfter = 3;

// localStorage may be unavailable; the console works without it.
function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* as above */ }
}

const app = document.getElementById("app");
let session = null;
// A gateway takes part in a cluster, or not, for as long as it runs; a session ends before that.
let isInCluster = false;
const isShown = (name) => name !== "cluster" || isInCluster;
// The screen that is shown, as its functions see it.
let page = null;
let failures = 0;

async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  // The code must not stay in the history, even if the login fails.
  if (code) history.replaceState(null, "", "./#/status");
  // A browser that never logged in has no session to ask for.
  if (!code && !recall("visited")) { login(""); return; }
  try {
    session = code
      ? await call("POST", "admin/session", { body: { code }, quiet: true })
      : await call("GET", "admin/session", { quiet: true });
    await frame();
  } catch (problem) {
    login(code ? problem.message : "");
  }
}

function login(said) {
  session = null;
  leave();
  const token = h("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
  const told = h("div", {}, said ? note("bad", said) : null);
  const form = h("form", { class: "login", onsubmit: async (event) => {
    event.preventDefault();
    try {
      session = await call("POST", "admin/session",
        { headers: { authorization: `Bearer ${token.value.trim()}` }, quiet: true });
      token.value = "";
      await frame();
    } catch (problem) {
      const wait = problem.retryAfter ? ` Try again in ${problem.retryAfter} s.` : "";
      replace(told, note("bad", problem.status === 401 ? "The gateway does not know this token." : problem.message + wait));
      token.select();
    }
  } },
  h("img", { src: "logo.svg", alt: "", width: "48", height: "48" }), h("h1", {}, "Sluice"),
  field("Admin token", token, "It is in the file admin-token of the data directory, unless the configuration has one. "
    + "sluice console --open prints a link that needs none."),
  told, h("button", { class: "primary" }, "Log in"));
  replace(app, h("main", { id: "main", class: "outside" }, form));
  document.title = "Log in · Sluice";
  token.focus();
}

async function frame() {
  remember("visited", "yes");
  const state = await call("GET", "admin/status", { quiet: true }).catch(() => null);
  isInCluster = Boolean(state?.queue.fleet);
  const links = Object.entries(screens).filter(([name]) => isShown(name)).map(([name, screen]) =>
    h("a", { href: `#/${name}`, id: `nav-${name}` }, screen.title));
  const menu = h("nav", { id: "menu", "aria-label": "Screens" }, links);
  replace(app,
    h("header", {},
      button("☰", () => openMenu(!menu.classList.contains("open")),
        { id: "open-menu", class: "menu", "aria-label": "Menu", "aria-controls": "menu", "aria-expanded": "false" }),
      h("a", { class: "brand", href: "#/status" }, h("img", { src: "logo.svg", alt: "", width: "26", height: "26" }), "Sluice"),
      h("span", { id: "live", role: "status" }),
      h("span", { class: "who" }, `${session.name} · ${session.role === "full" ? "may change" : "may read"}`),
      button("◐", theme, { "aria-label": "Light or dark", class: "icon" }),
      button("Log out", logout)),
    h("div", { class: "body" }, menu, h("main", { id: "main" })));
  if (!location.hash.startsWith("#/")) location.hash = "#/status";
  else show();
}

function openMenu(isOpen) {
  document.getElementById("menu").classList.toggle("open", isOpen);
  document.getElementById("open-menu").setAttribute("aria-expanded", String(isOpen));
}

async function logout() {
  await call("DELETE", "admin/session", { quiet: true }).catch(() => {});
  remember("visited", null);
  login("");
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember("theme", root.dataset.theme);
}

/** "#/queue/app?sort=-bytes" names the screen queue, the word app, and parameters. */
function place() {
  const [path, query] = location.hash.slice(2).split("?");
  let words;
  try {
    words = path.split("/").map(decodeURIComponent);
  } catch {
    // The address may be cut in the middle of a "%2F".
    words = [];
  }
  const [name, ...rest] = words;
  return { name: Object.hasOwn(screens, name ?? "") && isShown(name) ? name : "status", words: rest, params: new URLSearchParams(query) };
}

function leave() {
  page?.ended.abort();
  clearTimeout(page?.timer);
  page = null;
  // A question of the old screen must not stand before the next one, or before the login.
  for (const open of document.querySelectorAll("dialog")) open.dispatchEvent(new Event("cancel", { cancelable: true }));
}

async function show() {
  if (!session) return;
  leave();
  const where = place();
  const screen = screens[where.name];
  openMenu(false);
  for (const link of document.querySelectorAll("nav a")) link.removeAttribute("aria-current");
  document.getElementById(`nav-${where.name}`).setAttribute("aria-current", "page");
  const heading = h("h1", { tabindex: "-1" }, screen.title);
  const said = h("div", { id: "said", "aria-live": "polite" });
  const content = h("div", { id: "content", "aria-busy": "true" }, h("p", { class: "empty" }, "Loading…"));
  replace(document.getElementById("main"), h("div", { class: "title" }, heading), said, content);
  page = {
    ...where, content, mayChange: session.role === "full", ended: new AbortController(),
    say: (kind, text) => replace(said, note(kind, text)),
    refresh: () => refresh(here),
    title: (text) => {
      heading.textContent = visible(text);
      document.title = `${visible(text)} · Sluice`;
    },
  };
  const here = page;
  page.title(screen.title);
  // At once: a slow answer would take the focus from where the reader has gone meanwhile.
  heading.focus();
  await refresh(here);
}

/** Reads the screen again. Returns true when it shows the present state. */
async function refresh(here) {
  if (page !== here) return false;
  clearTimeout(here.timer);
  const screen = screens[here.name];
  // A slow answer must not replace a newer one.
  const turn = (here.turn ?? 0) + 1;
  here.turn = turn;
  const isOver = () => page !== here || here.turn !== turn;
  let isRead = false;
  try {
    const fresh = await screen.view(here);
    if (isOver()) return false;
    failures = 0;
    document.body.classList.remove("stale");
    // A screen that updates itself returns nothing.
    if (fresh) {
      const next = h("div", { id: "content" }, fresh);
      update(here.content, next);
      here.content = document.getElementById("content");
    }
    replace(document.getElementById("live"), badge("good", "live"));
    here.read = new Date().toISOString();
    isRead = true;
  } catch (problem) {
    if (isOver()) return false;
    if (problem.status === 401) return false;
    const isKnown = problem instanceof Problem;
    if (!isKnown) console.error(problem);
    failures += 1;
    document.body.classList.toggle("stale", failures >= staleAfter);
    replace(document.getElementById("live"), badge("bad", "not live"), here.read ? [" since ", time(here.read)] : null);
    if (!here.read) {
      replace(here.content, note("bad", isKnown ? problem.message : `The console cannot show this: ${problem.message}`));
      here.content.removeAttribute("aria-busy");
    }
  }
  if (isWaiting(here)) here.timer = setTimeout(() => refresh(here), refreshEvery);
  return isRead;
}

/** True when the screen is to be read again: it is seen, and does not update itself. */
const isWaiting = (here) => document.visibilityState === "visible" && !(screens[here.name].isStill && here.read);

events.addEventListener("loggedout", () => { if (session) login("The session is over. Log in again."); });
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => {
  if (page && isWaiting(page)) refresh(page);
  else clearTimeout(page?.timer);
});
begin();
