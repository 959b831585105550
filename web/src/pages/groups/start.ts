import type { Start } from "@/lib/page";
import type * as words from "@/pages/groups/words";

export const start: Start<typeof words> = {
  title: "startBots",
  steps: [
    { text: "startBotsHint", command: 'pip install ".[nanobot]"' },
    { text: "startAgentHint", command: "nanobot-transcript run -c command.yaml" },
    { text: "startDemoHint", command: "make demo" },
  ],
};
