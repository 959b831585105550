// The token comes with the address (?token= or #/?token=), leaves it at once, and is kept for this tab only. Questions may
// have one of their own: assistant.tokens open nothing else.

const KEY = "nanobot-transcript.token";
const OF_QUESTIONS = "nanobot-transcript.questions-token";

let kept = "";
let ofQuestions = "";
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
    setToken(token);
    brought = true;
  } else {
    kept = read(KEY);
    ofQuestions = read(OF_QUESTIONS);
  }
}

/** Whether the page was opened with a token in its address. */
export function cameWithToken(): boolean {
  return brought;
}

export function token(): string {
  return kept;
}

export function questionsToken(): string {
  return ofQuestions || kept;
}

export function setToken(value: string): void {
  kept = value.trim();
  store(KEY, kept);
  setQuestionsToken("");
}

/** Another token for the questions than for the rest of the page; empty for the same. */
export function setQuestionsToken(value: string): void {
  ofQuestions = value.trim();
  store(OF_QUESTIONS, ofQuestions);
}

function store(key: string, value: string): void {
  try {
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  } catch {
    // Without storage it lasts until the page is left.
  }
}

function read(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}
