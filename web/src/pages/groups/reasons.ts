import type { Language } from "@/lib/i18n";
import type { Decision } from "@/pages/groups/types";

const ZH: Record<string, string> = {
  invalid: "不是有效消息：缺少发送者或正文。",
  own: "这是该智能体自己发的。",
  duplicate: "该智能体已经回答过。",
  recalled: "消息已撤回。",
  stale: "消息太旧，不再回答。",
  command_for_other: "这是给另一个机器人的命令。",
  mentioned: "消息 @ 了该智能体。",
  named: "消息用名字或别名称呼了该智能体。",
  replied_to: "消息回复了该智能体。",
  own_thread: "消息在该智能体负责的话题里。",
  other_mentioned: "消息 @ 了别人，没有 @ 该智能体。",
  everyone: "消息面向全群，没有特定对象。",
  other_named: "消息开头叫的是别人的名字。",
  other_replied_to: "消息回复的是别人。",
  others_thread: "消息在另一个机器人的话题里。",
  partner: "发送者刚才正在和该智能体对话。",
  score_high: "从前文看，消息是对该智能体说的。",
  score_low: "从前文看，消息不是对该智能体说的。",
  undecided: "得分落在无法判断的区间，需要询问裁判模型。",
  judge_yes: "裁判模型判断应当回答。",
  judge_no: "裁判模型判断不应回答。",
  judge_unclear: "裁判模型没有给出明确结论。",
  judge_timeout: "裁判模型没有及时答复。",
  judge_failed: "无法询问裁判模型。",
  judge_budget: "本小时的裁判次数已用完。",
};

const STAGES: Record<string, [string, string]> = {
  never: ["excluded", "直接排除"],
  certain: ["certain rule", "确定规则"],
  others: ["meant for others", "指向他人"],
  score: ["score", "打分"],
  judge: ["judge", "裁判模型"],
};

export function reasonText(decision: Decision, language: Language): string {
  return (language === "zh" && ZH[decision.reason]) || decision.sentence;
}

export function stageText(stage: string, language: Language): string {
  return STAGES[stage]?.[language === "zh" ? 1 : 0] ?? stage;
}
