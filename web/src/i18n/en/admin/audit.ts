/** Texts of the audit log. */

export const audit = {
  text: "Sign-ins, what administrators changed, approvals, tool calls and SQL. What runs do shows within half a second.",
  when: "When",
  who: "Who",
  action: "Action",
  target: "On what",
  outcome: "Outcome",
  outcomes: { success: "Done", denied: "Denied", failed: "Failed" },
  details: "Details",
  detailsOf: "Details of row {{position}}",
  rowTitle: "{{action}}, row {{position}}",
  none: "Nothing was recorded yet.",
  noneFound: "Nothing fits these filters.",
  showAll: "Show everything",
  fields: {
    via: "Signed in by",
    address: "From address",
    target: "What it was done to",
    request_id: "Request",
    session_id: "Conversation",
    run_id: "Run",
    hash: "Hash",
    previousHash: "Hash of the row before",
  },
  export: {
    button: "Export",
    rows_one: "{{rows}} row that fits the filters",
    rows_other: "All {{rows}} rows that fit the filters",
    formats: { csv: "CSV, for spreadsheets", jsonl: "JSON lines, for programs" },
  },
  filters: {
    label: "Filter the audit log",
    anyone: "Anyone",
    any: "Any",
    action: "Action",
    from: "Not before",
    to: "Not after",
    runId: "Run id",
  },
  verify: {
    title: "Is the log as it was written?",
    run: "Verify",
    text: "Each row has the hash of the row before it. Verifying walks along this chain and finds the first row that was changed, removed, inserted or moved.",
    whole_one: "The log is whole: {{rows}} row was checked.",
    whole_other: "The log is whole: {{rows}} rows were checked.",
    noteHash:
      "Note the hash of the last row somewhere else now and then, and compare it later: whoever can write to the database could make the whole chain anew.",
    broken: "The log was changed: row {{position}} is the first that does not fit.",
    brokenText:
      "Keep a copy of the database as it is, find out who can write to it, and compare with a backup.",
  },
};
