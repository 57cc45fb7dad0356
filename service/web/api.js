// What the page asks of the server. Every function rejects with an Error whose message can be shown.
// Texts travel in bodies (POST), never in addresses, which proxies write into their logs.

import { errorOf } from "./errors.js";
import { t } from "./i18n.js";
import { key, withKey } from "./key.js";

const base = new URL("..", import.meta.url);

export const address = (path) => new URL(path, base).href;

const LONGEST = 120_000; // milliseconds without an answer; the server gives up before
const TEMPORARY = [429, 502, 503, 504];

async function fail(response) {
  const found = await response.json().catch(() => ({})); // not ours: a proxy's, for example
  const error = errorOf(found, t("The server answered {status}.", { status: response.status }));
  throw Object.assign(error, { temporary: TEMPORARY.includes(response.status), seconds: Number(response.headers.get("Retry-After")) || 0 });
}

async function reach(path, { signal, ...options }) {
  const signals = [signal, AbortSignal.timeout(LONGEST)].filter(Boolean);
  const response = await fetch(address(path), { ...options, signal: AbortSignal.any(signals) }).catch((error) => {
    throw error.name === "AbortError" ? error : Object.assign(new Error(t("The server cannot be reached.")), { temporary: true });
  });
  return response.ok ? response : fail(response);
}

const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ""));

const send = (path, fields, signal) => reach(path, {
  method: "POST", signal, headers: withKey({ "Content-Type": "application/json" }), body: JSON.stringify(fields),
});

export async function get(path, signal) {
  return (await reach(path, { signal, headers: withKey({ Accept: "application/json" }) })).json();
}

export async function post(path, fields, signal) {
  return (await send(path, fields, signal)).json();
}

// Requests of the operator, whose token stays in the field where it was typed; without fields the answer is read.
export const asOperator = async (path, token, fields) => (await reach(`v2/repository/${path}`, {
  headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
  ...(fields && { method: "POST", body: JSON.stringify(fields) }),
})).json();

// A form with a file, and the file of an answer.
export async function upload(path, form, signal) {
  return (await reach(path, { method: "POST", signal, headers: withKey(), body: form })).json();
}
export const fetchFile = async (path, signal) => (await reach(path, { signal, headers: withKey() })).blob();
export const remove = (path) => reach(path, { method: "DELETE", headers: withKey() });

// Attention as data or as a specification; empty fields are left out.
export const attention = (fields, signal) => post("attention", given(fields), signal);

// Let the browser save content under a name.
export function saveAs(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The same as a file.
export const save = async (fields, name) => saveAs(await (await send("attention", given(fields))).blob(), name);

// The address of a representation, for citing a figure. It holds the text; the page itself never asks for it.
export const citation = (fields) => address(`attention?${new URLSearchParams(given(fields))}`);

const quote = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

// The same request for a shell.
export function curlOf(fields) {
  const parts = Object.entries(given(fields)).map(([name, value]) => `  --data-urlencode ${quote(`${name}=${value}`)}`);
  const header = key() ? [`  -H ${quote("Authorization: Bearer YOUR_API_KEY")}`] : [];
  return [`curl -s ${quote(address("attention"))}`, ...header, ...parts].join(" \\\n");
}
