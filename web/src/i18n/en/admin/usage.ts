/** Texts of the section of usage. */

export const usage = {
  text: "What was used by day (UTC) and user.",
  days: "Days",
  lastDays: "{{count}} days",
  from: "From",
  to: "To",
  user: "User",
  everybody: "Everybody",
  badRange: "Choose a first day that is not after the last one, and at most three years before it.",
  none: "Nothing was used in these days.",
  noneText: "Choose other days or another user.",
  measure: "What to show",
  measures: {
    tokens: "Tokens",
    runs: "Runs",
    tool_calls: "Tool calls",
    sql_seconds: "Time in databases",
    cost: "Cost",
  },
  chartTitle: "{{measure}} by day",
  chartLabel: "{{measure}} by day from {{from}} to {{to}}, stacked by user; {{total}} in all.",
  asTable: "The figures as a table",
  day: "Day",
  all: "All",
  others: "Others",
  perUser: "By user",
  noPrices:
    "Costs are shown once prices are set: DATAAGENT_PRICE_INPUT and DATAAGENT_PRICE_OUTPUT, for a million tokens.",
};
