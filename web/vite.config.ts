/** How the web app is built: into the server's package, which serves it at `/`. */
import { fileURLToPath } from "node:url";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const SERVER = process.env["DATAAGENT_URL"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../libs/dataagent-server/dataagent_server/web",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy forbids data: scripts and styles
    chunkSizeWarningLimit: 1800, // the page of the API is one piece, loaded by nobody else
  },
  server: {
    port: 3008,
    proxy: {
      // the server takes a login from its own pages only, so it has to see this page's host
      "/api": { target: SERVER, changeOrigin: false },
      "/login": {
        target: SERVER,
        changeOrigin: false,
        // a one-time link and its button are the server's, the login page is this app's
        bypass: ({ method, url }) =>
          method === "GET" && !url?.includes("token=") ? "/index.html" : undefined,
      },
      "/ws": { target: SERVER, ws: true, changeOrigin: false },
    },
  },
});
