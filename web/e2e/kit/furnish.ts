/**
 * An installation that is in use: people, tenants, MCP servers, calls. For pictures of its pages.
 */

import { addUser, Client, type Account, type Site } from "./client";
import type { McpServer } from "./mcp";

const PEOPLE = ["anna_keller", "boris_ivanov", "chen_wei", "dora_lindqvist"];
const RULES = {
  subjects: "everyone",
  tables: {
    Customer: { masks: { Email: "partial" } },
    Employee: { deny_columns: ["BirthDate"] },
  },
};

/** Fill a server, once; `standin` is what its MCP servers reach. */
export async function furnish(site: Site, standin: McpServer): Promise<void> {
  const admin = await Client.admin(site);
  if ((await admin.get<{ total: number }>("/api/v1/tenants")).total > 0) return;
  const people = await Promise.all(PEOPLE.map((name) => addUser(site, name)));
  await addTenants(admin, people);
  await addServers(admin, standin);
  await admin.post("/api/v1/data-sources/chinook/policies", { name: "privacy", rules: RULES });
  for (const account of people.slice(0, 3)) await work(site, account);
  await standin.change("Adds two numbers, of which one may be a word.");
  const { items } = await admin.get<{ items: Shared[] }>("/api/v1/mcp/servers");
  const changed = items.find((server) => server.name === "warehouse");
  await admin.send("POST", `/api/v1/mcp/servers/${changed?.server_id ?? ""}/refresh`);
}

interface Shared {
  server_id: string;
  name: string;
}

async function addTenants(admin: Client, people: Account[]): Promise<void> {
  const north = { max_users: 20, max_sessions_per_user: 200, max_mcp_servers: 5 };
  const tenants = [
    { tenant_id: "north", name: "North Sales", workspace_quota: 5_000_000_000, ...north },
    { tenant_id: "south", name: "South Sales", max_users: 5, features_enabled: { mcp: false } },
    { tenant_id: "finance", name: "Finance 财务部" },
  ];
  for (const tenant of tenants) await admin.post("/api/v1/tenants", tenant);
  const places = ["north", "north", "finance", "south"];
  for (const [at, account] of people.entries()) {
    const path = `/api/v1/tenants/${places[at] ?? "north"}/users/${account.id}`;
    await admin.send("PUT", path, { role: at === 0 ? "admin" : "member" });
  }
}

async function addServers(admin: Client, standin: McpServer): Promise<void> {
  const url = standin.url;
  const shared = [
    { name: "warehouse", url, headers: { Authorization: "Bearer of-the-warehouse" } },
    { name: "crm", url, scope: "tenant", tenant_id: "north" },
    { name: "archive", url, disabled: true },
    { name: "billing", url: "http://127.0.0.1:9/mcp", timeout: 2 },
  ];
  for (const body of shared) {
    const { server_id: id } = await admin.post<Shared>("/api/v1/mcp/servers", body);
    if (!("disabled" in body)) await admin.send("POST", `/api/v1/mcp/servers/${id}/test`);
    if (body.name !== "warehouse") continue;
    const tools = ["add", "whose"].map((tool_name) => ({ server_id: id, tool_name }));
    await admin.send("PUT", "/api/v1/mcp/allowlists", { agent_id: "general", tools });
  }
  await admin.post("/api/v1/mcp/templates", {
    name: "files",
    description: "Reads the files of one folder",
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", "{folder}"],
    parameters: [{ name: "folder", description: "Which folder" }],
  });
  const own = `/api/v1/users/${(await admin.get<{ id: string }>("/api/auth/me")).id}/mcp-servers`;
  await admin.post(own, { name: "orders", url });
  await admin.send("POST", `${own}/orders/test`);
  await admin.post(own, { name: "weather", url, disabled: true });
}

/** What somebody does on a morning: calls, one of them denied, and a question. */
async function work(site: Site, account: Account): Promise<void> {
  const client = await Client.login(site, account);
  await client.ask('!tool warehouse__add {"a": 20, "b": 22}', { assistant_id: "general" });
  await client.ask('!tool warehouse__keep {"note": "x"}', { assistant_id: "general" });
  await client.ask(`!echo Good morning, ${account.username}. ${"All is well. ".repeat(30)}`);
}
