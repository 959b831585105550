// Words of the first page while there is nothing yet.

export const en = {
  startTitle: "What would you like to see here?",
  startHint: "Run one of these commands on the machine where `nanobot-transcript serve` runs. What arrives first opens here by itself.",
  startQuestions: "Answer your agents' questions",
  startQuestionsHint: "For Claude Code, in the agent's project. Then restart the agent and tell it: “Ask me with ask_question before you change anything.”",
  startQuestionsMore: "For another agent, replace `claude-code`; `nanobot-transcript mcp-config --help` lists the names.",
  startBots: "Bots in a group chat",
  startBotsHint: "For your nanobot bots: in the clone, with the pip of nanobot's environment. Then restart the bots.",
  startAgentHint: "For any other agent, with a settings file:",
  startDemoHint: "To try it first, with no account, on a page of its own:",
  startMail: "Mail between agents",
  startMailHint: "For Claude Code, in the project. Then restart the agent.",
};

export const zh: Record<keyof typeof en, string> = {
  startTitle: "你想在这里看到什么？",
  startHint: "在运行 `nanobot-transcript serve` 的机器上执行下面任一命令。最先到来的内容会自动在这里打开。",
  startQuestions: "回答智能体的提问",
  startQuestionsHint: "以 Claude Code 为例，在智能体的项目目录里执行，然后重启智能体，并告诉它：“改动之前先用 ask_question 问我。”",
  startQuestionsMore: "使用其他智能体时，把 `claude-code` 换成它的名字；`nanobot-transcript mcp-config --help` 会列出所有名字。",
  startBots: "群聊里的机器人",
  startBotsHint: "用于 nanobot 机器人：在源码目录里、用 nanobot 环境的 pip 执行，然后重启机器人。",
  startAgentHint: "用于其他智能体，配置写在一个文件里：",
  startDemoHint: "想先看看效果，不需要账号，示例有自己的网页：",
  startMail: "智能体之间的邮件",
  startMailHint: "以 Claude Code 为例，在项目目录里执行，然后重启智能体。",
};
