import type { health as en } from "../../en/admin/health";
import type { Translated } from "../../shape";

export const health: Translated<typeof en> = {
  text: "一切是否正常，以及有多忙。",
  asOf: "截至 {{when}}；每 15 秒重新查看。",
  unreachable: "服务器目前没有响应。显示的是之前的内容。",
  statuses: { ready: "服务器工作正常", not_ready: "有些部分不工作" },
  ok: "正常",
  checks: {
    database: "数据库",
    migrations: "数据库表结构",
    disk: "磁盘",
    bus: "Redis",
    workers: "工作进程",
    server: "服务器",
  },
  advice: {
    database:
      "数据库服务器是否已启动，DATAAGENT_DATABASE_URL 是否仍指向它？“dataagent-server doctor”会给出更多信息。",
    migrations: "运行一次“dataagent-server migrate”，然后重新查看。",
    disk: "请在 DATAAGENT_HOME 所在磁盘上腾出空间。在此之前无法保存新内容。",
    bus: "Redis 是否已启动，DATAAGENT_REDIS_URL 是否仍指向它？在此之前回答无法实时送达。",
    workers: "请至少启动一个：“dataagent-server worker”。在此之前运行会在队列中等待。",
    server: "服务器正在停止，不接受新任务。请等待其恢复。",
  },
  otherAdvice: "在服务器上运行“dataagent-server doctor”，会对每个问题给出提示。",
  notices: {
    offline:
      "没有设置模型，因此由内置的离线模型回答，它所知有限。请设置 DATAAGENT_MODEL 和相应的密钥，然后重新启动服务器。",
    noSandbox: "智能体不能运行代码：没有沙箱。“dataagent-server doctor”会说明缺少什么。",
    mcpFailing: "这些 MCP 服务器没有响应：{{names}}。请查看 MCP 注册表。",
    connectionsFull:
      "连接几乎用尽，新的连接会被拒绝。请调高 DATAAGENT_MAX_CONNECTIONS 或增加进程。",
    queueLong: "许多运行在等待。请增加工作进程，或检查卡住的运行。",
  },
  busy: "繁忙程度",
  made: "组成",
  facts: {
    runs: "运行",
    connections: "打开的连接",
    sandbox: "沙箱",
    mcp: "MCP 服务器",
    uptime: "已运行",
    version: "版本",
    model: "模型",
    database: "数据库",
    runsIn: "运行在何处执行",
  },
  runsActive: "{{active}} 个进行中",
  runsQueued: "{{active}} 个进行中，{{queued}} 个等待",
  ofLimit: "{{used}} / {{limit}}",
  noSandbox: "无：智能体不能运行代码",
  sandbox: "{{kind}}：{{ready}} 个就绪，{{inUse}} 个使用中",
  noMcp: "已关闭",
  mcp: "{{connected}} / {{servers}} 已连接",
  uptime: {
    days: "{{days}} 天 {{hours}} 小时",
    hours: "{{hours}} 小时 {{minutes}} 分钟",
    minutes: "{{minutes}} 分钟",
  },
  runsIn: { web: "在服务器内", workers: "由工作进程" },
};
