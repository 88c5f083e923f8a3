/** Names in a statement, quoted as the source's dialect does. Pure. */

const BACKTICKS = new Set([
  "mysql",
  "mariadb",
  "bigquery",
  "clickhouse",
  "hive",
  "spark",
  "databricks",
]);
const BRACKETS = new Set(["tsql", "mssql", "fabric"]);
const FETCH_FIRST = new Set(["oracle", "db2"]);

export function quoted(name: string, dialect: string): string {
  if (BACKTICKS.has(dialect)) return `\`${name.replaceAll("`", "``")}\``;
  if (BRACKETS.has(dialect)) return `[${name.replaceAll("]", "]]")}]`;
  return `"${name.replaceAll('"', '""')}"`;
}

/** A statement for the first rows of a table. */
export function firstRowsSql(
  table: { name: string; schema: string | null },
  dialect: string,
  count: number,
): string {
  const parts = table.schema === null ? [table.name] : [table.schema, table.name];
  const name = parts.map((part) => quoted(part, dialect)).join(".");
  if (BRACKETS.has(dialect)) return `SELECT TOP ${count} * FROM ${name}`;
  if (FETCH_FIRST.has(dialect)) return `SELECT * FROM ${name} FETCH FIRST ${count} ROWS ONLY`;
  return `SELECT * FROM ${name} LIMIT ${count}`;
}
