// What the page asks of the server. Every function rejects with an Error whose message can be shown.

import { key, withKey } from "./key.js";

const base = document.baseURI.split("#")[0];

export const address = (path) => new URL(path, base).href;

async function fail(response) {
  let found = {};
  try {
    found = await response.json();
  } catch { /* not ours: a proxy's, for example */ }
  throw Object.assign(new Error(found.error || `The server answered ${response.status}.`), { code: found.code });
}

async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached.");
  }
}

export async function get(path, signal) {
  const response = await reach(address(path), { signal, headers: withKey({ Accept: "application/json" }) });
  return response.ok ? response.json() : fail(response);
}

export async function post(path, fields, signal) {
  const response = await reach(address(path), {
    method: "POST", signal, headers: withKey({ "Content-Type": "application/json" }), body: JSON.stringify(fields),
  });
  return response.ok ? response.json() : fail(response);
}

// A file, saved under a name: for requests that need the key, which a plain link cannot send.
export async function save(path, name) {
  const response = await reach(address(path), { headers: withKey() });
  if (!response.ok) await fail(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Server-sent events of a POST, as [name, data].
export async function* events(path, fields, signal) {
  const response = await reach(address(path), {
    method: "POST", signal, headers: withKey({ "Content-Type": "application/json" }), body: JSON.stringify(fields),
  });
  if (!response.ok) await fail(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    const parts = waiting.split("\n\n");
    waiting = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? "message";
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data) yield [name, JSON.parse(data)];
    }
  }
}

// The address of a representation of attention; empty fields are left out.
export function attentionPath(fields) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  return `attention?${query}`;
}

const quote = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

// The same request for a shell.
export function curlOf(fields) {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => `  --data-urlencode ${quote(`${name}=${value}`)}`);
  const header = key() ? [`  -H ${quote("Authorization: Bearer YOUR_API_KEY")}`] : [];
  return [`curl -sG ${quote(address("attention"))}`, ...header, ...parts].join(" \\\n");
}
