// A controller with tokens: the page asks for one, keeps a cookie that no script reads, and logs out.
//   node login_test.mjs PAGE_DIR BIN_DIR
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, check, temporaryFolder, until } from "./browser.mjs";

const [pageDir, bin] = process.argv.slice(2);
const folder = temporaryFolder();
const token = `rm_${"0123456789abcdef".repeat(4)}`;
const hash = createHash("sha256").update(token).digest("hex");
writeFileSync(join(folder, "tokens.yaml"), `- {name: ada, role: viewer, sha256: ${hash}}\n`, { mode: 0o600 });

const browser = await Browser.launch(pageDir);
const state = join(folder, "state");
const parts = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--tokens", join(folder, "tokens.yaml")];
const controller = spawn(join(bin, "ringmaster-controller"), ["--state", state, ...parts], { stdio: "ignore" });
try {
  const facts = join(state, "controller.json");
  await until("the controller listens", () => existsSync(facts));
  const address = `http://${JSON.parse(readFileSync(facts, "utf8")).http}`;
  const page = await browser.page(address);
  await page.goto(`${address}/cluster`);
  await page.waitForSelector("form input[type=password]");
  const asked = browser.faults.splice(0);
  check(
    asked.every((fault) => fault.includes("401")),
    `faults before the login:\n${asked.join("\n")}`,
  );

  await page.fill("input[type=password]", `rm_${"0".repeat(64)}`);
  await page.keyboard.press("Enter");
  await page.waitForSelector("form .problem");
  check((await page.textContent("form .problem")).includes("token"), "a wrong token gets no reason");
  browser.faults.length = 0;

  await page.fill("input[type=password]", token);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".connection.live");
  const [cookie] = await page.context().cookies();
  check(cookie.httpOnly && cookie.sameSite === "Strict", `the cookie is ${JSON.stringify(cookie)}`);
  check(!cookie.value.includes(token), "the cookie is the token");
  check((await page.evaluate(() => document.cookie)) === "", "a script reads the cookie");
  await page.reload();
  await page.waitForSelector(".connection.live");
  check(browser.faults.length === 0, `faults:\n${browser.faults.join("\n")}`);

  await page.click("text=Log out");
  await page.waitForSelector("form input[type=password]");
  console.log("logged in with a token, kept over a reload, logged out");
} finally {
  await browser.close();
  controller.kill();
}
