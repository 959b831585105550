import type { Start } from "@/lib/page";
import type * as words from "@/pages/questions/words";

export const COMMAND = "nanobot-transcript mcp-config claude-code --servers assistant --write";

export const start: Start<typeof words> = {
  title: "startQuestions",
  steps: [{ text: "startQuestionsHint", command: COMMAND }],
  more: "startQuestionsMore",
};
