// Opens every page of a real cluster in Chromium, wide and narrow, light and dark.
//   node page_test.mjs PAGE_DIR BIN_DIR    RINGMASTER_KEEP=DIR keeps the screenshots there
import { request } from "node:http";
import { join } from "node:path";
import { Browser, check, temporaryFolder, until } from "./browser.mjs";
import { Cluster } from "./cluster.mjs";

const [pageDir, bin] = process.argv.slice(2);
const folder = temporaryFolder();
const kLooks = [
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  { width: 400, colorScheme: "light" },
  { width: 400, colorScheme: "dark" },
];

function statusFor(address, host) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address);
    request({ hostname, port, path: "/", headers: { Host: host, "Accept-Encoding": "gzip" } }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk)).on("end", () => resolve({ status: response.statusCode, body }));
    })
      .on("error", reject)
      .end();
  });
}

/** Seconds from a step's arrival at the controller until the page shows it, of several steps. */
async function stepDelays(page, id, count) {
  return page.evaluate(
    ([job, wanted]) =>
      new Promise((resolve) => {
        const delays = [];
        const events = new EventSource("/api/v1/stream");
        events.addEventListener("step", (event) => {
          const { jobId, step } = JSON.parse(event.data);
          if (jobId !== job) return;
          const shown = Number(step.step).toLocaleString("en-US");
          const look = () => {
            const now = Number(
              document.querySelector(".bar.top .progress .num").firstChild.textContent.replaceAll(",", ""),
            );
            if (now < Number(step.step)) return requestAnimationFrame(look);
            delays.push({ shown, seconds: Date.now() / 1000 - Date.parse(step.time) / 1000 });
            if (delays.length === wanted) resolve((events.close(), delays));
          };
          look();
        });
      }),
    [id, count],
  );
}

async function newestAttempt(cluster, id) {
  const job = await (await fetch(`${cluster.address}/api/v1/jobs/${id}`)).json();
  return { count: job.attempts.length, last: job.attempts.at(-1) };
}
async function lastCheckpoint(cluster, id) {
  return Number((await newestAttempt(cluster, id)).last.lastCheckpointStep ?? 0);
}
async function trains(cluster, id, attempts) {
  const { count, last } = await newestAttempt(cluster, id);
  return count === attempts && last.lastStep !== undefined;
}

async function looksRight(browser, cluster, path, look) {
  const page = await browser.page(cluster.address, look);
  const response = await page.goto(cluster.address + path);
  check(response.status() === 200, `${path}: ${response.status()}`);
  const policy = response.headers()["content-security-policy"] ?? "";
  check(policy.startsWith("default-src 'none'; script-src 'self'"), `${path}: the policy is '${policy}'`);
  await page.waitForSelector("main");
  await page.waitForSelector(".connection.live");
  await page.waitForTimeout(700);
  const wide = await Browser.overflow(page);
  check(wide <= 0, `${path} is ${wide} px wider than ${look.width}`);
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  check(theme === look.colorScheme, `${path} is ${theme}, the system ${look.colorScheme}`);
  const name = `${path.replace(/\W+/g, "_")}_${look.width}_${look.colorScheme}.png`;
  await page.screenshot({ path: join(folder, name), fullPage: true });
  await page.context().close();
}

/** The memory of a step and the mesh of the plan, which the planner says when it is asked. */
async function drawsThePlan(browser, cluster, id) {
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/runs/${id}/plan`);
  await until("a step over time", async () => (await page.locator("#step .u-wrap").count()) > 0);
  const axis = await page.textContent("#step header");
  check(axis.includes("buffer by buffer"), `nobody measured the slots, and the step says '${axis}'`);
  const legend = await page.textContent("#step .u-legend");
  check(legend.includes("weights") && legend.includes("buffers"), `the step's memory is '${legend}'`);
  const chosen = await page.textContent("#meshes tr.chosen");
  check(chosen.includes("ring 2, ZeRO 0"), `the chosen mesh is '${chosen}'`);
  const note = await page.textContent("#meshes");
  check(note.includes("by the present devices") && note.includes("--profile now"), `the meshes say '${note}'`);
  await page.context().close();
}

/** The grid of a suite, once the job has ended. */
async function showsRightAnswers(browser, cluster, id) {
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/runs/${id}`);
  await until("a suite on the page", async () => (await page.locator(".suite td").count()) === 9, 60_000);
  const head = await page.textContent(".suite thead");
  check(head === "depth2561K2K*", `the columns of the suite are '${head}'`);
  const note = await page.textContent(".suite figcaption");
  check(note.startsWith("far after step 150") && note.includes("* beyond the trained 1K"), `it says '${note}'`);
  await page.context().close();
}

async function worksByKeyboard(browser, cluster, id) {
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/runs`);
  await page.waitForSelector(`a[href="/runs/${id}"]`);
  await page.focus(`a[href="/runs/${id}"]`);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${id}`);
  await page.keyboard.press("Tab");
  const focused = await page.evaluate(() => document.activeElement?.tagName);
  check(focused !== "BODY", "Tab focuses nothing");
  await page.goBack();
  await page.waitForSelector("table.runs");
  await page.context().close();
}

/** Regression 142: a scroll event of the log that came after the log had left the page was an error. */
async function scrollsWhileItLeaves(browser, cluster, id) {
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/runs/${id}`);
  const log = await page.waitForSelector("#log pre");
  await page.click('a[href="/runs"]');
  await page.waitForSelector("table.runs");
  await log.evaluate((element) => element.dispatchEvent(new Event("scroll")));
  await page.context().close();
}

/** `ringmaster web` serves the same page, live, to those who have its address. */
async function opensThroughTheCommandLine(browser, cluster, id) {
  const { address, stop } = await cluster.web();
  const page = await browser.page(new URL(address).origin);
  await page.goto(address);
  await page.waitForSelector(".connection.live");
  await page.waitForSelector(`a[href="/runs/${id}"]`);
  await page.context().close();
  const stranger = await fetch(new URL(address).origin);
  check(stranger.status === 403, `without the address's secret the tunnel answers ${stranger.status}`);
  stop();
}

const browser = await Browser.launch(pageDir);
const cluster = await Cluster.start(bin, folder);
try {
  const first = cluster.submit("first", 150);
  const running = cluster.submit("running", 100_000, 4); // a rank on every worker
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/runs/${running}`);
  const steps = page.locator(".bar.top .progress .num");
  await until("a first step on the page", async () => !(await steps.textContent()).startsWith("0 "), 60_000);
  // Two restarts, which the page then shows.
  for (let restarts = 1; restarts <= 2; ++restarts) {
    await until("a checkpoint", async () => (await lastCheckpoint(cluster, running)) > 0, 60_000);
    cluster.killRank();
    await until(`restart ${restarts}`, async () => (await trains(cluster, running, restarts + 1)), 60_000);
  }
  await until("three attempts on the page", async () => (await page.textContent("main")).includes("3 attempts"));
  const delays = await stepDelays(page, running, 15);
  const sorted = delays.map((one) => one.seconds).sort((a, b) => a - b);
  const [median, slowest] = [sorted[sorted.length >> 1], sorted[sorted.length - 1]];
  console.log(
    `steps are on the page ${median.toFixed(2)} s after their report (median of ${sorted.length}), at most ${slowest.toFixed(2)} s`,
  );
  check(median < 1, `half of the steps took longer than ${median} s`);
  const drawn = () => page.locator(".charts .u-wrap").count();
  await until("the curves are drawn", async () => (await drawn()) >= 8);
  await page.context().close();

  await showsRightAnswers(browser, cluster, first);
  const paths = [
    "/runs",
    `/runs/${running}`,
    `/runs/${first}`,
    `/runs/${first}/plan`,
    `/compare?ids=${first},${running}`,
    "/cluster",
    "/history",
  ];
  for (const path of paths) {
    for (const look of kLooks) await looksRight(browser, cluster, path, look);
  }
  await drawsThePlan(browser, cluster, first);
  await worksByKeyboard(browser, cluster, running);
  await scrollsWhileItLeaves(browser, cluster, running);
  await opensThroughTheCommandLine(browser, cluster, running);

  const wrong = await statusFor(cluster.address, "evil.example");
  check(wrong.status === 403 && wrong.body.includes("evil.example"), `another Host got ${wrong.status} ${wrong.body}`);
  check(browser.faults.length === 0, `faults:\n${browser.faults.join("\n")}`);
  console.log(
    `${paths.length} places at ${kLooks.length} looks: no error, no request to another host, nothing too wide`,
  );
} finally {
  await browser.close();
  await cluster.stop();
}
