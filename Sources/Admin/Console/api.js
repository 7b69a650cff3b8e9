// The one way to the gateway: its public admin API.

export class Problem extends Error {
  constructor(status, code, message, data, retryAfter) {
    super(message);
    Object.assign(this, { status, code, data, retryAfter });
  }
}

/** Called when the session is over. */
export const events = new EventTarget();

/** Sends a request, and returns the answer's JSON or text. Throws a Problem. */
export async function call(method, path, { query, body, headers, quiet } = {}) {
  const url = new URL(`../${path}`, location.href.split("#")[0]);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  const options = { method, headers: { accept: "application/json", ...headers }, credentials: "same-origin" };
  if (method !== "GET") options.headers["x-sluice-csrf"] = "1";
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    throw new Problem(0, "Unreachable", "the gateway does not answer");
  }
  const text = await answer.text();
  let data = text;
  if (answer.headers.get("content-type")?.startsWith("application/json") && text) data = JSON.parse(text);
  if (!answer.ok) {
    if (answer.status === 401 && !quiet) events.dispatchEvent(new Event("loggedout"));
    const said = data?.error;
    throw new Problem(answer.status, said?.code ?? "", said?.message ?? data?.message ?? `HTTP ${answer.status}`,
      data, Number(answer.headers.get("retry-after")) || null);
  }
  return data;
}

export const get = (path, query) => call("GET", path, { query });
export const post = (path, options) => call("POST", path, options);
export const part = encodeURIComponent;

/** The same request as a line for a terminal. */
export function curlLine(method, path, body) {
  const url = new URL(`../${path}`, location.href.split("#")[0]);
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl", "-X", method, "-H", '"Authorization: Bearer $TOKEN"'];
  if (body !== undefined) words.push("-H", quote("Content-Type: application/json"), "-d", quote(JSON.stringify(body)));
  return [...words, quote(url.href)].join(" ");
}
