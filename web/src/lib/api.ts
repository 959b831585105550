import { token } from "@/lib/token";

/** What the hub says when it does not do what was asked. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }

  /** Whether another token is wanted: there is none, the hub does not know it, or it opens no page. */
  get wantsToken(): boolean {
    return this.status === 401 || this.code === "not_for_this_token";
  }
}

type Values = Record<string, string | number | boolean | string[] | null | undefined>;

let refused: (error: ApiError) => void = () => undefined;

/** Calls when the hub wants a token, or another one, until what is returned is called. */
export function onRefused(call: (error: ApiError) => void): () => void {
  refused = call;
  return () => {
    refused = () => undefined;
  };
}

export function headers(): Record<string, string> {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

export function address(path: string, values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export async function get<T>(path: string, values: Values = {}, signal?: AbortSignal): Promise<T> {
  return ask<T>(address(path, values), { headers: headers(), ...(signal ? { signal } : {}) });
}

export async function post<T>(path: string, values: Values): Promise<T> {
  return ask<T>(path, {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(`.${path}`, init); // beside the page, wherever the hub is mounted
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "", "");
  }
  if (answer.ok) return (await answer.json()) as T;
  throw await refusal(answer);
}

/** Why the hub does not do what was asked. Where it is for the token, the page asks for another one. */
export async function refusal(answer: Response): Promise<ApiError> {
  const error = await asError(answer);
  if (error.wantsToken) refused(error);
  return error;
}

async function asError(answer: Response): Promise<ApiError> {
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string; hint: string } };
    return new ApiError(answer.status, error.code, error.message, error.hint);
  } catch {
    return new ApiError(answer.status, `http_${answer.status}`, answer.statusText, "");
  }
}
