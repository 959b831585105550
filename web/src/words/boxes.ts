// Words of the page of mailboxes.

export const en = {
  boxesHint: "Looking changes nothing: mail stays unread for its agent.",
  actAs: "Act as",
  noBoxes: "No agent has a mailbox here",
  noBoxesHint: "Name the agents and their folders in a file .filebox.",
  notPermitted: "You may not act as this agent",
  notPermittedHint: "filebox.run_as and filebox.may_run_as in the configuration say for whom one may act.",
  boxProblem: "This mailbox cannot be used",
  writeAs: "Write as {name}",
  replyAs: "Reply as {name} to {to} …",
  type: "Type",
  olderLeftOut: "1 older entry is left out.|{n} older entries are left out.",
  resolve: "Resolve",
  reject: "Reject",
  resolved: "Resolved",
  rejected: "Rejected",
};

export const zh: Record<keyof typeof en, string> = {
  boxesHint: "只看不动：对智能体来说邮件仍是未读。",
  actAs: "当前身份",
  noBoxes: "这里没有智能体的邮箱",
  noBoxesHint: "请在 .filebox 文件中列出智能体及其目录。",
  notPermitted: "不能以这个智能体的身份操作",
  notPermittedHint: "可以代表谁操作，由配置中的 filebox.run_as 和 filebox.may_run_as 决定。",
  boxProblem: "这个邮箱无法使用",
  writeAs: "以 {name} 的身份写信",
  replyAs: "以 {name} 的身份回复 {to}……",
  type: "类型",
  olderLeftOut: "还有 {n} 条更早的内容没有显示。",
  resolve: "标为已解决",
  reject: "拒绝",
  resolved: "已标为解决",
  rejected: "已拒绝",
};
