/**
 * What runs in a real browser against real servers: Debian's Chromium, nothing is downloaded.
 *
 * `e2e` are the tests, `first` those of them that `make test` runs; the other projects are tools
 * that use the same kit and run by name only.
 */
import { defineConfig, devices } from "@playwright/test";

const browser = {
  ...devices["Desktop Chrome"],
  viewport: { width: 1280, height: 800 },
  locale: "en-US",
  timezoneId: "UTC",
  contextOptions: { reducedMotion: "reduce" as const },
  launchOptions: {
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-extensions"],
  },
};

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/kit/setup.ts",
  outputDir: "test-results",
  workers: 2,
  retries: 0,
  timeout: 600_000,
  expect: { timeout: 120_000 },
  reporter: [["list"]],
  use: { ...browser, trace: process.env["TRACE"] ? "retain-on-failure" : "off" },
  projects: [
    { name: "first", testMatch: "**/*.spec.ts", grep: /@first/ },
    { name: "e2e", testMatch: "**/*.spec.ts" },
    { name: "recordings", testMatch: "tools/recordings.ts" },
    { name: "screenshots", testMatch: "tools/screenshots.ts", workers: 1 }, // one installation, filled once
    { name: "speed", testMatch: "tools/speed.ts" },
    { name: "demo", testMatch: "tools/demo.ts", workers: 1 }, // started by pytest
  ],
});
