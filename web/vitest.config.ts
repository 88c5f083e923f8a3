/** Unit tests: they stand beside the modules, end-to-end tests are in `e2e/`. */
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  test: {
    environment: "node", // what needs a document says so in its first line
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    testTimeout: 120_000, // ends a test that hangs
  },
});
