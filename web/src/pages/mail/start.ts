import type { Start } from "@/lib/page";
import type * as words from "@/pages/mail/words";

export const start: Start<typeof words> = {
  title: "startMail",
  steps: [{ text: "startMailHint", command: "nanobot-transcript mcp-config claude-code --servers mail --write" }],
};
