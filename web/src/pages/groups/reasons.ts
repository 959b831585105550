import { type Key, type Language, isKey } from "@/lib/i18n";
import type { Decision } from "@/pages/groups/types";

const ZH: Record<string, string> = {
  invalid: "不是消息：缺少发送者或文本。",
  own: "是本智能体自己写的。",
  duplicate: "本智能体已经回答过。",
  recalled: "已被撤回。",
  stale: "太旧，不再回答。",
  command_for_other: "是发给其他机器人的命令。",
  mentioned: "@ 了本智能体。",
  named: "叫了本智能体的名字或别名。",
  replied_to: "回复了本智能体。",
  own_thread: "位于本智能体的话题中。",
  other_mentioned: "@ 了别人，没有 @ 本智能体。",
  everyone: "说给整个群，没有指明对象。",
  other_named: "叫了别人的名字。",
  other_replied_to: "回复了别人。",
  others_thread: "位于其他机器人的话题中。",
  partner: "发送者刚刚还在和本智能体说话。",
  score_high: "从前文看，是说给本智能体的。",
  score_low: "从前文看，不像是说给本智能体的。",
  open_question: "问的是“谁知道”，没有指明对象。",
  other_fits: "更可能是说给另一个机器人的。",
  no_answer_wanted: "是道谢、答应之类，或者说了不用回答。",
  undecided: "分数拿不准，需要询问裁判模型。",
  judge_yes: "裁判模型说是。",
  judge_no: "裁判模型说否。",
  judge_unclear: "裁判模型的回答既不是“是”也不是“否”。",
  judge_timeout: "裁判模型没有按时回答。",
  judge_failed: "无法询问裁判模型。",
  judge_budget: "这一小时的询问额度已用完。",
  claimed: "最先认领了这条消息，由它回答。",
  claim_seen: "其他机器人已认领这条消息。",
  taken_over: "先认领的机器人没有回答，由它接替。",
  // generated:begin
  courtesy: "防循环：机器人的道谢之类不用回应。",
  echo: "防循环：刚刚有人说过同样的话。",
  hop_limit: "防循环：自真人发言以来，机器人连续发言的轮数已满。",
  pair_budget: "防循环：这两个机器人之间暂时说得够多了。",
  // generated:end
  answered: "已经回答。",
  failed: "没能回答。",
  said_nothing: "没有要说的。",
  withdrawn: "回答没有发出：消息已被撤回，或者宿主没有接收它。",
  lost_claim: "回答没有发出：已由其他机器人回答。",
  intruded: "事后有人说不是问它的。",
  missed: "有人点名又问了一遍：是问它的，它没有回答。",
};

const STAGES: Record<string, [string, string]> = {
  never: ["excluded", "直接排除"],
  certain: ["certain rule", "确定规则"],
  others: ["meant for others", "指向他人"],
  score: ["score", "打分"],
  judge: ["judge", "裁判模型"],
  claim: ["claim", "认领"],
  guard: ["loop guard", "防循环"],
  answer: ["answer", "回答"],
  correction: ["corrected by people", "被人纠正"],
};

/** How a badge looks: green only while all is well. */
export function toneOf({ respond, reason, stage }: Decision): "positive" | "warning" | "destructive" | "default" {
  if (stage === "answer" && reason === "failed") return "destructive";
  if (stage === "answer" && reason !== "answered") return "warning";
  if (stage === "correction") return "warning";
  return respond ? "positive" : respond === null ? "warning" : "default";
}

/** What a bot does about a message, in a few words. */
export function outcomeKey({ respond, reason, stage }: Decision): Key {
  if (stage === "guard") return "stopped";
  if (stage === "claim") return reason === "claimed" ? "claimed" : reason === "taken_over" ? "tookOver" : "claimSeen";
  const outcome = `outcome_${reason}`;
  if ((stage === "answer" || stage === "correction") && isKey(outcome)) return outcome;
  return respond ? "answers" : respond === null ? "undecided" : "silent";
}

export function reasonText(decision: Pick<Decision, "reason" | "sentence">, language: Language): string {
  return (language === "zh" && ZH[decision.reason]) || decision.sentence;
}

export function stageText(stage: string, language: Language): string {
  return STAGES[stage]?.[language === "zh" ? 1 : 0] ?? stage;
}
