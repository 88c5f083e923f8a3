import type { usage as en } from "../../en/admin/usage";
import type { Translated } from "../../shape";

export const usage: Translated<typeof en> = {
  text: "按天（UTC）和用户统计的用量。",
  days: "天数",
  lastDays: "{{count}} 天",
  from: "从",
  to: "到",
  user: "用户",
  everybody: "所有人",
  badRange: "请选择不晚于结束日期、且最多早三年的开始日期。",
  none: "这些天没有用量。",
  noneText: "请选择其他日期或用户。",
  measure: "显示内容",
  measures: {
    tokens: "Token",
    runs: "运行",
    tool_calls: "工具调用",
    sql_seconds: "数据库用时",
    cost: "费用",
  },
  chartTitle: "每日 {{measure}}",
  chartLabel: "{{from}} 至 {{to}} 的每日{{measure}}，按用户堆叠；共 {{total}}。",
  asTable: "以表格显示数字",
  day: "日期",
  all: "合计",
  others: "其他",
  perUser: "按用户",
  noPrices:
    "设置价格后会显示费用：DATAAGENT_PRICE_INPUT 和 DATAAGENT_PRICE_OUTPUT，按每百万 Token 计。",
};
