/** Texts of the system's health. */

export const health = {
  text: "Whether everything works, and how busy it is.",
  asOf: "As of {{when}}; it is looked at again every 15 seconds.",
  unreachable: "The server does not answer now. What is shown is from before.",
  statuses: { ready: "The server works", not_ready: "Something does not work" },
  ok: "works",
  checks: {
    database: "Database",
    migrations: "Database tables",
    disk: "Disk",
    bus: "Redis",
    workers: "Workers",
    server: "Server",
  },
  advice: {
    database:
      "Is the database server up, and does DATAAGENT_DATABASE_URL still lead to it? “dataagent-server doctor” says more.",
    migrations: "Run “dataagent-server migrate” once, then look again.",
    disk: "Make room on the disk of DATAAGENT_HOME. Until then nothing new can be stored.",
    bus: "Is Redis up, and does DATAAGENT_REDIS_URL still lead to it? Until then answers do not arrive live.",
    workers: "Start at least one: “dataagent-server worker”. Until then runs wait in the queue.",
    server: "It is being stopped and takes no new work. Wait for it to come back.",
  },
  otherAdvice: "“dataagent-server doctor” on the server says more, with a hint for each problem.",
  notices: {
    offline:
      "No model is set, so the built-in offline model answers, which knows little. Set DATAAGENT_MODEL and the key of its provider, and start the server again.",
    noSandbox:
      "Agents run no code: there is no sandbox. “dataagent-server doctor” says what is missing.",
    mcpFailing: "These MCP servers do not answer: {{names}}. See the MCP registry.",
    connectionsFull:
      "Nearly all connections are in use; further ones are refused. Raise DATAAGENT_MAX_CONNECTIONS or add a process.",
    queueLong: "Many runs wait. Add workers, or look for runs that hang.",
  },
  busy: "How busy it is",
  made: "What it is made of",
  facts: {
    runs: "Runs",
    connections: "Open connections",
    sandbox: "Sandboxes",
    mcp: "MCP servers",
    uptime: "Up for",
    version: "Version",
    model: "Model",
    database: "Database",
    runsIn: "Runs are executed",
  },
  runsActive: "{{active}} under way",
  runsQueued: "{{active}} under way, {{queued}} waiting",
  ofLimit: "{{used}} of {{limit}}",
  noSandbox: "none: agents run no code",
  sandbox: "{{kind}}: {{ready}} ready, {{inUse}} in use",
  noMcp: "switched off",
  mcp: "{{connected}} of {{servers}} connected",
  uptime: {
    days: "{{days}} d {{hours}} h",
    hours: "{{hours}} h {{minutes}} min",
    minutes: "{{minutes}} min",
  },
  runsIn: { web: "in the server itself", workers: "by workers" },
};
