import type { admin as en } from "../en/admin";
import type { Translated } from "../shape";

import { audit } from "./admin/audit";
import { health } from "./admin/health";
import { policies } from "./admin/policies";
import { sources } from "./admin/sources";
import { tenants } from "./admin/tenants";
import { usage } from "./admin/usage";
import { users } from "./admin/users";

export const admin: Translated<typeof en> = {
  title: "管理",
  text: "谁可以进入、可以看到和使用什么，以及发生过什么。",
  sectionsLabel: "管理的各个部分",
  sections: {
    users: "用户",
    tenants: "租户与配额",
    sources: "数据源",
    agents: "智能体",
    skills: "技能",
    mcp: "MCP 注册表",
    allowlists: "工具权限",
    mcpCalls: "MCP 调用",
    usage: "用量与费用",
    audit: "审计日志",
    health: "系统状态",
  },
  toUsers: "前往用户列表",
  actions: "操作",
  actionsFor: "对 {{name}} 的操作",
  copyId: "复制 ID",
  shownOnce: "只显示这一次。请立即复制并安全转交。",
  typeToConfirm: "输入“{{name}}”以确认",
  paging: {
    label: "列表分页",
    position: "第 {{first}}–{{last}} 条，共 {{total}} 条",
    previous: "上一页",
    next: "下一页",
  },
  users,
  tenants,
  sources,
  policies,
  usage,
  audit,
  health,
};
