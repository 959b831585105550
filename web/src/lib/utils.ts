import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Class names joined; of two that contradict each other the later one counts. */
export function cn(...inputs: ClassValue[]): string {
  return twMerge(clsx(inputs));
}

/** A colour that always is the same for a name, as a hue. */
export function hue(name: string): number {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 3600;
  return sum % 360;
}

/** Hues for names that stand beside each other: as far apart as can be, each near its own where that is free. */
export function hues(names: readonly string[]): number[] {
  const free = names.map((_, index) => Math.round((index * 360) / names.length) + 20);
  const away = (one: number, other: number) => Math.abs(((one - other + 540) % 360) - 180);
  return names.map((name) => {
    const nearest = free.toSorted((one, other) => away(one, hue(name)) - away(other, hue(name)))[0] ?? 0;
    free.splice(free.indexOf(nearest), 1);
    return nearest;
  });
}

/** One or two characters that stand for a name. */
export function initials(name: string): string {
  const words = name.trim().split(/[\s_-]+/u).filter(Boolean);
  const first = [...(words[0] ?? "?")];
  if (/\p{Script=Han}/u.test(first[0] ?? "")) return first.slice(-2).join("");
  const second = words[1] ? [...words[1]][0] : undefined;
  return ((first[0] ?? "?") + (second ?? "")).toUpperCase();
}

/** A key under which something is done once, however often it is sent. */
export function onceKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** For `ref` of a field that is `required`: nor is it filled in by spaces alone, and `why` says so. */
export function notOnlySpaces(text: string, why: string) {
  return (field: HTMLInputElement | HTMLTextAreaElement | null) => field?.setCustomValidity(text && !text.trim() ? why : "");
}

/** Without the marks of Markdown, of which a sentence that was cut out has only some. */
export function plain(text: string): string {
  return text
    .replace(/^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|(?:\|[ \t]*)?:?--[-:| \t]*$)/gm, "")
    .replace(/^[ \t]*\||\|[ \t]*$/gm, "")
    .replace(/\*\*|`/g, "");
}

/** A number of bytes, in MiB where it is that much. */
export function inBytes(size: number): string {
  const [unit, name] = size >= 1024 * 1024 ? [1024 * 1024, "MiB"] : [1024, "KiB"];
  return `${Math.floor((size / unit) * 10) / 10} ${name}`;
}
