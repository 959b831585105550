// What went wrong, in Chinese: by the code of an error the sentence and what to do about it. The original, which names
// what it is about, stays at hand on the page.

export interface Told {
  text: string;
  hint: string;
  /** Whether the original has to be read, too. */
  vague?: boolean;
}

/** A sentence and a hint, which is empty where words.ts has one. */
const BY_CODE: Record<string, [string, string]> = {
  // The record and what all rooms have in common.
  transcript_error: ["出现了一个错误。", "运行 `nanobot-transcript doctor`，并查看 hub 的日志。"],
  invalid_entry: ["有一条内容无法写入记录。", "检查写入方给出的参数，原文指出了是哪一个。"],
  invalid_cursor: ["收到了一个不认识的游标。", "游标只能使用接口返回的原值；去掉游标重新读取即可。"],
  unknown_name: ["找不到这个名称对应的群、成员或消息，或者有多个同名。", "原文列出了现有的名称，请从中选择。"],
  config: ["设置或配置文件有误。", "按原文指出的位置修改配置；`nanobot-transcript config show` 显示当前设置。"],
  import_format: ["要导入的文件格式不符。", "检查文件是否为所选的格式。"],
  nothing_found: ["给出的内容里没有要找的东西。", "看提示里期望的格式，或换一个文件夹。"],
  store: ["记录无法读写。", "运行 `nanobot-transcript doctor`，它会检查记录、磁盘和锁。"],
  store_unavailable: ["存储目录不存在、只读或没有权限。", "检查该目录是否存在，以及运行 hub 的用户能否写入。"],
  store_full: ["磁盘空间或配额已用完。", ""],
  unsafe_path: ["存储位置上有符号链接或其他类型的文件。", "把它移走，换成普通的目录或文件。"],
  store_busy: ["存储正被其他进程占用。", ""],
  host: ["宿主框架缺少插件需要的功能。", "升级 nanobot-ai，或改用 `nanobot-transcript run`。"],
  delivery: ["有一条消息没能发到群里。", "查看 hub 和机器人的日志，确认机器人仍在群里、网络正常。"],
  withheld: ["有一条消息没有发出：已由其他机器人回答，或者原消息已撤回。", "这是正常情况，无需处理。"],
  responder: ["智能体的模型或程序没有给出回答。", "检查模型接口或程序能否正常运行。"],
  responder_timeout: ["智能体的模型或程序超时未回答。", "检查它是否卡住，或把时限调长。"],
  hub_unreachable: ["连不上 hub，或被 hub 拒绝。", "确认 `nanobot-transcript serve` 正在运行，地址和令牌正确。"],
  client_cannot: ["MCP 客户端缺少这个工具需要的功能。", "换用支持该功能的客户端，或使用其他工具。"],
  // The outbox.
  outbox: ["代发消息无法放入发件箱，或在发件箱中找不到。", "运行 `nanobot-transcript doctor`，并确认 `store.dir` 可以写入。"],
  invalid_post: ["代发消息没有内容、过长，或没有指明群。", "修改内容后重新提交。"],
  post_conflict: ["同一个幂等键已用于另一条代发消息，没有放入发件箱。", "换一个幂等键，或提交与原来相同的内容。"],
  unknown_post: ["没有这条代发消息，或者它结束已久。", "代发消息结束几天后会被清理，请检查 ID。"],
  // FileBox.
  mailbox: ["FileBox 邮件无法发送、找到或读取。", "运行 `nanobot-transcript doctor`，它会检查各个邮箱。"],
  no_agent: ["无法确定这是哪个智能体。", "用 `runAs` 或 `filebox.agent` 指明；原文列出了所有智能体。"],
  unknown_agent: ["配置中没有这个智能体。", "检查名称，或把它加入 FileBox 的配置文件。"],
  run_as_refused: ["设置不允许以这个智能体的身份操作。", "如需允许，请修改 `filebox.run_as` 和 `filebox.may_run_as`。"],
  invalid_mail: ["邮件的标题、类型、内容、箱子或文件名不可用。", "按原文的说明修改。"],
  mail_not_found: ["找不到这封邮件。", "它可能已被移到别的箱子；重新列出后再试。"],
  mailbox_busy: ["另一个进程长时间占用邮箱，没有任何改动。", "稍后重试；如果一直如此，检查是否有进程卡住。"],
  mailbox_unavailable: ["邮箱目录不存在、没有权限、已满，或是链接。", "检查该智能体的目录；`nanobot-transcript doctor` 会逐个检查。"],
  // Agent Mail.
  agent_mail: ["Agent Mail 出错。", "运行 `nanobot-transcript mail doctor`，它会指出问题并修复。"],
  invalid_letter: ["邮件的主题、收件人、路径或时间不可用。", "按原文的说明修改。"],
  unknown_project: ["没有这个项目。", "原文列出了相近的项目；检查项目路径。"],
  unregistered_agent: ["这个名称没有登记，或在多个项目中都有登记。", "先登记该智能体，或指明项目。"],
  letter_not_found: ["没有这封邮件或这个邮件会话。", "检查 ID，或用搜索查找。"],
  acting_refused: ["不允许以这个智能体的身份操作。", "检查它的令牌；有些名称是保留的。"],
  guard: ["提交前检查无法装入或移出这个仓库。", "检查仓库的 git 钩子和目录权限。"],
  archive: ["git 中的存档无法读写。", "运行 `nanobot-transcript mail doctor`；数据库中的邮件不受影响。"],
  // The IO bridge.
  io_bridge: ["IO 桥出错。", "查看 hub 日志中同一时间的记录。"],
  invalid_item: ["会话 ID、输入、输出或等待时间不可用。", "按原文的说明修改。"],
  queue_full: ["队列已满，没有放入。", "先取走等待的内容，或调大 `io` 的限额。"],
  // Agent Assistant.
  assistant: ["提问出错。", "查看 hub 日志中同一时间的记录。"],
  invalid_question: ["提问、回答或留言不可用。", "按原文的说明修改。"],
  unknown_question: ["没有这个提问，或者它属于另一个令牌。", "检查 ID 和令牌。"],
  token_refused: ["令牌缺失或不认识。", "程序使用 `assistant.tokens` 或 `hub.tokens` 中的令牌，人使用 `hub.page_token`。"],
  invalid_argument: ["有程序发来了无法读取或不可用的提问内容。", "程序已收到具体原因，请查看它的输出。"],
  not_found: ["有程序提到了一个不存在的提问。", "它可能是用另一个令牌提出的，或者程序用错了 ID。"],
  resource_exhausted: ["有程序一次发来的提问内容过大。", "减少单次发送的内容。"],
  unimplemented: ["有程序调用了不存在的提问接口。", "可用的接口见 docs/zh/assistant.md；该程序可能对应另一个版本。"],
  unavailable: ["有一次提问调用未能完成。", "查看 hub 日志中同一时间的记录；`nanobot-transcript doctor` 会检查磁盘。"],
  // The platform.
  platform: ["飞书接口调用失败或被拒绝。", "查看日志中的错误码；必要时把 log_id 提供给飞书支持。"],
  not_permitted: ["缺少权限，或机器人不在群里。", "在飞书开发者后台开通原文列出的权限，并把机器人加入群。"],
  credentials_refused: ["App ID 或 App Secret 不正确。", "在飞书开发者后台核对 App ID 和 App Secret。"],
  rate_limited: ["飞书接口调用过于频繁（频控）。", "会自动等待后重试；如果经常出现，请减少调用。"],
  quota_exhausted: ["本月的飞书接口调用额度已用完。", "等到下个月，或在飞书管理后台增加额度。"],
  call_budget: ["你设置的调用额度已用完，没有再调用。", "等额度恢复，或调大设置中的额度。"],
  message_gone: ["消息已撤回、删除，或机器人看不到。", "无需处理。"],
  request_refused: ["飞书无法照办：内容过长、已不能编辑、ID 有误或未通过审核。", "按原文的说明修改内容。"],
  no_answer: ["连不上飞书，或飞书服务异常。", "检查网络和代理；会自动重试。"],
  unexpected_answer: ["飞书的应答不符合文档，可能来自中间的代理。", "检查代理或网关是否改动了应答。"],
  // The hub.
  wrong_host: ["请求使用了 hub 不认识的主机名。", ""],
  wrong_origin: ["别处的网页试图调用 hub，已拒绝。", ""],
  too_large: ["请求过大。", ""],
  internal: ["hub 处理请求时出错。", ""],
  not_for_this_token: ["这个令牌不能用于这里。", "网页用 `hub.page_token`，程序用 `hub.tokens` 中的令牌；邮箱智能体的令牌只能用于 `/mcp/filebox`。"],
  not_json: ["请求不是 JSON，或没有注明。", "加上请求头 `Content-Type: application/json`。"],
  stopping: ["hub 正在停止，没有处理这个请求。", "等 hub 重新运行后再调用。"],
  too_many_sessions: ["打开的 MCP 会话过多。", "让客户端结束不用的会话，或等闲置的会话到期。"],
  wrong_request: ["对页面接口的请求缺少内容或内容有误。", "接口的用法见 docs/zh/web.md。"],
  http_400: ["请求无法读取。", "检查发出请求的程序。"],
  http_404: ["请求的地址不存在。", "MCP 服务位于 `/mcp` 和 `/mcp/<服务名>`。"],
  http_405: ["该地址不接受这种请求方法。", "换用正确的方法，例如 POST。"],
  http_408: ["请求没有及时发完。", "一次发完整个请求；检查网络。"],
  http_413: ["请求过大。", "减少单次发送的内容，或调大 `hub.max_body`。"],
};

/** What is only a line of the log, by the start of who logged it; the first that fits. */
const BY_PLACE: [string, string, string][] = [
  ["transcript_mcp.filebox", "FileBox 邮箱报告了异常。", "查看各智能体目录中的 .filebox；`nanobot-transcript doctor` 会逐个检查。"],
  ["transcript_mcp.mail", "Agent Mail 报告了异常。", "运行 `nanobot-transcript mail doctor`，它会指出问题并修复。"],
  ["transcript_mcp.assistant", "提问功能报告了异常。", "查看 hub 日志中同一时间的记录；`nanobot-transcript doctor` 会检查其余部分。"],
  ["transcript_mcp.io_bridge", "IO 桥报告了异常。", "查看 hub 日志中同一时间的记录；`nanobot-transcript doctor` 会检查其余部分。"],
  ["transcript_mcp", "hub 报告了异常。", "查看 hub 日志中同一时间的记录；`nanobot-transcript doctor` 会检查其余部分。"],
  ["nanobot_transcript", "群聊记录部分报告了异常。", "运行 `nanobot-transcript doctor`，它会检查记录、磁盘和锁。"],
];

export function inChinese(code: string, where: string): Told {
  const known = BY_CODE[code];
  if (known) return { text: known[0], hint: known[1], vague: known[1].includes("原文") };
  const place = BY_PLACE.find(([start]) => where.startsWith(start));
  const [, text, hint] = place ?? ["", "hub 拒绝了一个请求，或没能完成。", ""];
  return { text, hint, vague: true };
}
