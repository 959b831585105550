// Words of the first page while there is nothing yet.

export const en = {
  startTitle: "What would you like to see here?",
  startHint: "Run one of these commands on the machine where `nanobot-transcript serve` runs. What arrives first opens here by itself.",
};

export const zh: Record<keyof typeof en, string> = {
  startTitle: "你想在这里看到什么？",
  startHint: "在运行 `nanobot-transcript serve` 的机器上执行下面任一命令。最先到来的内容会自动在这里打开。",
};
