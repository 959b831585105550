// The token comes with the address (?token= or #/?token=), leaves it at once, and is kept for this tab only: in the
// installed page, which is closed and opened all the time, on the device.

import { isApp } from "@/lib/installing";
import { forgetKept, keepNoMore } from "@/lib/tab";

const KEY = "nanobot-transcript.token";

let kept = "";
let brought = false;

export function takeToken(): void {
  const address = new URL(location.href);
  let token = address.searchParams.get("token");
  address.searchParams.delete("token");
  const [path = "", query = ""] = address.hash.slice(1).split("?", 2);
  const inHash = new URLSearchParams(query);
  token = inHash.get("token") ?? token;
  if (token !== null) {
    inHash.delete("token");
    const rest = inHash.toString();
    address.hash = path + (rest ? `?${rest}` : "");
    history.replaceState(null, "", address.pathname + address.search + (address.hash === "#" ? "" : address.hash));
    const known = isApp() ? read() : "";
    kept = known || token.trim(); // any page may lead into the app: what that keeps is changed by hand alone
    if (!known) store(kept);
    brought = true;
  } else {
    kept = read();
  }
}

/** Whether the page was opened with a token in its address. */
export function cameWithToken(): boolean {
  return brought;
}

export function token(): string {
  return kept;
}

/** Enough of the token to know it by, and never all of it. */
export function tokenEnding(): string {
  return `…${kept.slice(-Math.min(4, Math.floor(kept.length / 3)) || kept.length)}`;
}

/** Opens the page anew with another token: nothing that the one before has shown stays in it. */
export function enterWith(value: string): void {
  if (value.trim() !== kept) keepNoMore();
  if (!store(value.trim())) location.hash = `/?token=${encodeURIComponent(value)}`;
  location.reload();
}

/** False where the browser keeps nothing; then it lasts until the page is left. */
function store(value: string): boolean {
  try {
    if (value !== read()) forgetKept(); // it was written under the token before
    if (value) place().setItem(KEY, value);
    else place().removeItem(KEY);
    return true;
  } catch {
    return false;
  }
}

function read(): string {
  try {
    return place().getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

function place(): Storage {
  return isApp() ? localStorage : sessionStorage;
}
