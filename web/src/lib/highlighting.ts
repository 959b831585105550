// The colours of code. Loaded when there is some to colour: it weighs as much as a page.

import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { type ReactNode, createElement } from "react";

/** Characters; what is longer stays as it is, since the page would stand still meanwhile. */
const LONGEST = 20_000;

const lowlight = createLowlight({ bash, diff, go, ini, java, json, python, rust, shell, sql, typescript, xml, yaml });
lowlight.registerAlias({
  typescript: ["javascript", "js", "jsx", "mjs", "cjs"],
  shell: ["terminal"],
  python: ["python3"],
});

type Root = ReturnType<typeof lowlight.highlight>;
type Piece = Root["children"][number];

/** Code in pieces that have a class each; undefined in a language that is not known. */
export function highlit(code: string, language: string): ReactNode {
  if (code.length > LONGEST || !lowlight.registered(language)) return undefined;
  return lowlight.highlight(language, code).children.map(shown);
}

function shown(piece: Piece, key: number): ReactNode {
  if (piece.type === "text") return piece.value;
  if (piece.type !== "element") return null;
  const { className } = piece.properties;
  return createElement("span", { key, className: [className].flat().join(" ") }, (piece.children as Piece[]).map(shown));
}
