// Words that Mail and Mailboxes have in common.

export const en = {
  write: "Write",
  thread: "Thread",
  searchMail: "Search mail",
  chooseThread: "Choose a thread",
  to: "To",
  noRecipient: "Choose to whom it goes.",
  subject: "Subject",
  body: "Text, in Markdown",
  unread: "unread",
  emptyBox: "Nothing here",
  more: "1 more|{n} more",
  showMore: "Show more",
  box_inbox: "Inbox",
  box_outbox: "Sent",
  box_done: "Resolved",
  box_cancel: "Rejected",
};

export const zh: Record<keyof typeof en, string> = {
  write: "写信",
  thread: "邮件线程",
  searchMail: "搜索邮件",
  chooseThread: "请选择一个邮件线程",
  to: "收件人",
  noRecipient: "请选择收件人。",
  subject: "主题",
  body: "正文（Markdown）",
  unread: "未读",
  emptyBox: "这里是空的",
  more: "还有 {n} 封",
  showMore: "显示更多",
  box_inbox: "收件箱",
  box_outbox: "已发送",
  box_done: "已解决",
  box_cancel: "已拒绝",
};
