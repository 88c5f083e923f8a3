/** A real MCP server over HTTP: the one that the Python tests use, too. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { freePort } from "./server";

const ROOT = resolve(import.meta.dirname, "../../..");

export class McpServer {
  #child: ChildProcess | null = null;

  private constructor(
    private readonly port: number,
    private readonly folder: string,
  ) {}

  static async start(words = "Adds two numbers."): Promise<McpServer> {
    const folder = await mkdtemp(join(tmpdir(), "dataagent-mcp-"));
    const server = new McpServer(await freePort(), folder);
    await server.#run(words);
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** Start it anew at the same address, with other words about what `add` does. */
  async change(words: string): Promise<void> {
    await this.#end();
    await this.#run(words);
  }

  async stop(): Promise<void> {
    await this.#end();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #run(words: string): Promise<void> {
    const file = join(this.folder, "words.txt");
    await writeFile(file, words);
    const program = `${ROOT}/tests/standins/mcp_server.py`;
    const child = spawn(
      `${ROOT}/.venv/bin/python`,
      [program, "http", "--port", String(this.port), "--words", file],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    this.#child = child;
    await once(child.stdout, "data");
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
