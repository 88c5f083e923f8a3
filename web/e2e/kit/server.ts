/** A real server process with a data directory of its own: start it, kill it, start it again. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../../..");
const PROGRAM = join(ROOT, ".venv/bin/dataagent-server");
const READY_MS = 120_000;

export const ADMIN = { username: "admin", password: "a-long-admin-password" };

export type Settings = Record<string, string>;

/** One data directory and the server that runs on it, through all its deaths. */
export class Server {
  #process: ChildProcess | null = null;
  #log = "";

  private constructor(
    readonly home: string,
    readonly port: number,
    private readonly settings: Settings,
  ) {}

  static async start(settings: Settings): Promise<Server> {
    const home = await mkdtemp(join(tmpdir(), "dataagent-e2e-"));
    const server = new Server(home, await freePort(), settings);
    try {
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the server printed: the one-time link stands there. */
  get log(): string {
    return this.#log;
  }

  async start(): Promise<void> {
    const child = spawn(PROGRAM, ["serve"], { cwd: this.home, env: this.#environment() });
    this.#process = child;
    const keep = (piece: Buffer) => {
      this.#log += piece.toString();
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    await this.#ready();
  }

  /** End it at once, as a power cut would. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** End it and remove what it kept. */
  async remove(): Promise<void> {
    await this.kill("SIGTERM");
    await rm(this.home, { recursive: true, force: true });
  }

  /** Run another command of the program on the same data. */
  async command(args: string[], input = ""): Promise<string> {
    const child = spawn(PROGRAM, args, { cwd: this.home, env: this.#environment() });
    let printed = "";
    child.stdout.on("data", (piece: Buffer) => {
      printed += piece.toString();
    });
    child.stdin.end(input);
    const [code] = (await once(child, "exit")) as [number];
    if (code !== 0) throw new Error(`dataagent-server ${args.join(" ")} ended with ${code}`);
    return printed;
  }

  #environment(): NodeJS.ProcessEnv {
    const { PATH, LANG } = process.env;
    return {
      PATH,
      LANG,
      HOME: this.home,
      DATAAGENT_HOME: join(this.home, "data"),
      DATAAGENT_AGENTS_HOME: join(this.home, "agents"),
      DATAAGENT_HOST: "127.0.0.1",
      DATAAGENT_PORT: String(this.port),
      DATAAGENT_ADMIN_PASSWORD: ADMIN.password,
      DATAAGENT_LOG_LEVEL: "WARNING",
      DATAAGENT_RATE_LIMIT_PER_MINUTE: "0",
      DATAAGENT_MAX_RUNS_PER_USER: "0",
      DATAAGENT_MCP_MAX_SERVERS: "20",
      ...this.settings,
    };
  }

  async #ready(): Promise<void> {
    const deadline = Date.now() + READY_MS;
    while (Date.now() < deadline) {
      if (typeof this.#process?.exitCode === "number")
        throw new Error(`The server ended.\n${this.#log}`);
      const answer = await fetch(`${this.url}/api/v1/health/ready`).catch(() => null);
      if (answer?.ok) return;
      await new Promise((wake) => setTimeout(wake, 50));
    }
    throw new Error(`The server is not ready after ${READY_MS} ms.\n${this.#log}`);
  }
}

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
