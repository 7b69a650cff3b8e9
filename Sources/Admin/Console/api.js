// The one way to the gateway: its public admin API.

import { inertJSON } from "./dom.js";

export class Problem extends Error {
  constructor(status, code, message, data, retryAfter) {
    super(message);
    Object.assign(this, { status, code, data, retryAfter });
  }
}

// Milliseconds. A gateway that hangs must not look alive; a proof may wait half a minute for SLS, behind another one.
const patience = { read: 20_000, change: 90_000 };

/** Called when the session is over. */
export const events = new EventTarget();

/** Sends a request, and returns the answer's JSON or text. Throws a Problem. */
export async function call(method, path, options) {
  return (await answered(method, path, options)).data;
}

/** Reads a thing that an operator may change: its data, and the version that the change has to name. */
export const getVersion = (path) => answered("GET", path);

/** The condition of a change: it is for this version only. Without it, the later of two operators would undo the other's change. */
export const only = (version) => (version ? { "if-match": version } : {});

/** What a failed proof or test says: what happened, and what to do. */
const told = (data) => (data?.message ? `${data.message}${data.remedy ? `; ${data.remedy}` : ""}` : null);

async function answered(method, path, { query, body, headers, quiet } = {}) {
  const url = new URL(`../${path}`, location.href.split("#")[0]);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  const options = { method, headers: { accept: "application/json", ...headers }, credentials: "same-origin",
    signal: AbortSignal.timeout(method === "GET" ? patience.read : patience.change) };
  if (method !== "GET") options.headers["x-sluice-csrf"] = "1";
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let answer;
  let text;
  try {
    answer = await fetch(url, options);
    // The connection can break in the middle of the answer.
    text = await answer.text();
  } catch {
    throw new Problem(0, "Unreachable", method === "GET" ? "the gateway does not answer"
      : "the gateway has not answered; the change may still be made, so look before you repeat it");
  }
  let data = text;
  if (answer.headers.get("content-type")?.startsWith("application/json") && text) {
    try {
      data = JSON.parse(text);
    } catch {
      throw new Problem(answer.status, "Unreadable", "something other than the gateway answered: this is not JSON");
    }
  }
  if (!answer.ok) {
    if (answer.status === 401 && !quiet) events.dispatchEvent(new Event("loggedout"));
    const said = data?.error;
    throw new Problem(answer.status, said?.code ?? data?.code ?? "", said?.message ?? told(data) ?? `HTTP ${answer.status}`,
      data, Number(answer.headers.get("retry-after")) || null);
  }
  return { data, version: answer.headers.get("etag") };
}

export const get = (path, query) => call("GET", path, { query });
export const post = (path, options) => call("POST", path, options);
export const part = encodeURIComponent;

/** The same request as a line for a terminal. */
export function curlLine(method, path, body) {
  const url = new URL(`../${path}`, location.href.split("#")[0]);
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl", "-X", method, "-H", '"Authorization: Bearer $TOKEN"'];
  if (body !== undefined) words.push("-H", quote("Content-Type: application/json"), "-d", quote(inertJSON(body)));
  return [...words, quote(url.href)].join(" ");
}
