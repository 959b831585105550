// Where the words that somebody looked for stand in a text: as the hub's index finds them, see assistant/searching.py.

export interface Piece {
  text: string;
  marked: boolean;
}

type Span = readonly [start: number, end: number];

/** Characters of scripts that set no spaces: each is a word. */
const DENSE =
  "\\u0e00-\\u0eff\\u1100-\\u11ff\\u2e80-\\u31ff\\u3400-\\u9fff\\ua960-\\ua97f\\uac00-\\ud7ff\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}";
const LETTER = "[\\p{L}\\p{N}]";
const SPACED = `(?![${DENSE}])${LETTER}`;
const WORDS = new RegExp(`(?:${SPACED})+|${LETTER}`, "gu");
const GAP = "[^\\p{L}\\p{N}]*";
const BEFORE = 40;
const AFTER = 80;
const BEGINNING = 200;
/** Farther into a text nothing is looked for: the page would stand still meanwhile. */
const LOOKED_AT = 100_000;
/** Letters that stay as they are, or one with its accents. */
const PIECES = /[\0-\x7f\u4e00-\u9fff]+(?!\p{M})|\P{M}\p{M}*/gu;

/** The parts of a text round what was looked for, or its beginning. */
export function excerptOf(whole: string, query: string): { pieces: Piece[]; found: boolean } {
  const text = whole.slice(0, LOOKED_AT);
  const words = spansOf(text, query);
  const firsts = words.flatMap(([first]) => (first ? [first] : []));
  if (!firsts.length) return { pieces: [{ text: text.slice(0, BEGINNING), marked: false }], found: false };
  const marks = words.flat().sort(byStart);
  return { pieces: around(firsts, text.length).flatMap((part) => piecesOf(text, part, marks)), found: true };
}

/** For each word of a query where it stands. */
function spansOf(text: string, query: string): Span[][] {
  const { plain, at } = folded(text);
  const spanOf = (start: number, end: number): Span => {
    while (at[end] === at[end - 1]) end++; // it ends within what is one character of the text
    return [at[start] ?? 0, at[end] ?? text.length];
  };
  return query
    .slice(0, 200)
    .split(/\s+/)
    .map((piece) => folded(piece).plain.match(WORDS) ?? [])
    .filter((words) => words.length)
    .map((words) => [...plain.matchAll(new RegExp(words.map(alone).join(GAP), "gu"))])
    .map((hits) => hits.map((hit) => spanOf(hit.index, hit.index + hit[0].length)));
}

/** A word that letters stand beside is part of another one. */
function alone(word: string): string {
  return new RegExp(`[${DENSE}]`, "u").test(word) ? word : `(?<!${SPACED})${word}(?!${SPACED})`;
}

/** A text without case, accents, widths and ligatures, and where each character of that stands in the text itself. */
function folded(text: string): { plain: string; at: number[] } {
  let plain = "";
  const at: number[] = [];
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const bare = piece.normalize("NFKD").replace(/\p{M}/gu, "").normalize("NFC").toLowerCase().replaceAll("ς", "σ");
    const alike = bare.length === piece.length;
    for (let place = 0; place < bare.length; place++) at.push(alike ? index + place : index);
    plain += bare;
  }
  return { plain, at };
}

/** What is shown round some places, without showing anything twice. */
function around(spans: Span[], length: number): Span[] {
  const parts: [number, number][] = [];
  for (const [start, end] of [...spans].sort(byStart)) {
    const last = parts.at(-1);
    if (last && start - BEFORE <= last[1]) last[1] = Math.min(length, Math.max(last[1], end + AFTER));
    else parts.push([Math.max(0, start - BEFORE), Math.min(length, end + AFTER)]);
  }
  return parts;
}

function piecesOf(text: string, [start, end]: Span, marks: Span[]): Piece[] {
  const pieces: Piece[] = [{ text: start ? " …" : "", marked: false }];
  let at = start;
  for (const [from, to] of marks) {
    if (from < at || to > end) continue;
    pieces.push({ text: text.slice(at, from), marked: false }, { text: text.slice(from, to), marked: true });
    at = to;
  }
  return [...pieces, { text: text.slice(at, end), marked: false }];
}

function byStart([one]: Span, [other]: Span): number {
  return one - other;
}
