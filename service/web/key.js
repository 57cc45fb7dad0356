// The API key, where the server asks for one: in this tab's own storage, never in an address.

import { keep, kept } from "./dom.js";

const NAME = "translucent-key";
let remembered = "";

export const key = () => kept(NAME, "sessionStorage") ?? remembered;

export function keepKey(value) {
  remembered = value.trim();
  keep(NAME, remembered, "sessionStorage");
}

// Headers of a request, with the key if there is one.
export const withKey = (headers = {}) => (key() ? { ...headers, Authorization: `Bearer ${key()}` } : headers);
