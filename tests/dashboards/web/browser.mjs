// Chromium for the tests of the page: a fresh one each time, which may ask one host only.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const kChromium = "/usr/bin/chromium";
const kArguments = [
  "--headless",
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const kSkipped = 77; // as CTest is told

export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(kSkipped);
}

/** A folder that goes away at the end, unless RINGMASTER_KEEP names one that stays. */
export function temporaryFolder() {
  const kept = process.env.RINGMASTER_KEEP;
  if (kept) return kept;
  const folder = mkdtempSync(join(tmpdir(), "ringmaster-web-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

export async function until(what, look, limit = 20_000) {
  for (const begin = Date.now(); ; await new Promise((wake) => setTimeout(wake, 50))) {
    const found = await look();
    if (found) return found;
    check(Date.now() - begin < limit, `${what}: not within ${limit / 1000} s`);
  }
}

/** Opens pages that note each error and each request to another host. */
export class Browser {
  faults = [];

  static async launch(pageDir) {
    if (!existsSync(kChromium)) skip(`${kChromium} is not there; scripts/install_packages test installs it`);
    if (!existsSync(join(pageDir, "node_modules"))) skip(`${pageDir} has no node_modules: the page was not built`);
    const { chromium } = createRequire(resolve(pageDir, "package.json"))("playwright-core");
    const made = new Browser();
    made.browser = await chromium.launch({ executablePath: kChromium, args: kArguments });
    return made;
  }

  async page(address, { width = 1280, colorScheme = "light" } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.faults.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.faults.push(`${page.url()}: ${error.stack ?? error.message}`));
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== "data:" && protocol !== "blob:" && host !== new URL(address).host)
        this.faults.push(`${page.url()} asked ${request.url()}`);
    });
    return page;
  }

  /** No part of the page is wider than the window. */
  static overflow(page) {
    return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  }

  close() {
    return this.browser.close();
  }
}
