// What people type elsewhere so that there is something on a page.

export const COMMANDS = {
  questions: "nanobot-transcript mcp-config claude-code --servers assistant --write",
  mail: "nanobot-transcript mcp-config claude-code --servers mail --write",
  nanobot: 'pip install ".[nanobot]"',
  agent: "nanobot-transcript run -c command.yaml",
  demo: "make demo",
} as const;
