import { defineConfig } from "vite";

// `npx vite` serves the sources live; RINGMASTER_HTTP names the controller that answers /api.
export default defineConfig({
  build: { target: "es2022", assetsInlineLimit: 0, reportCompressedSize: false, modulePreload: { polyfill: false } },
  server: { proxy: { "/api": process.env["RINGMASTER_HTTP"] ?? "http://127.0.0.1:7071" } },
});
