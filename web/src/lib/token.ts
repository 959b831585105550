// The token comes with the address (?token= or #/?token=), leaves it at once, and is kept for this tab only.

const KEY = "nanobot-transcript.token";

let kept = "";

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
    setToken(token);
  } else {
    kept = read();
  }
}

export function token(): string {
  return kept;
}

export function setToken(value: string): void {
  kept = value.trim();
  try {
    if (kept) sessionStorage.setItem(KEY, kept);
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage it lasts until the page is left.
  }
}

function read(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}
