// The page before 64 nodes, 512 ranks and 100,000 steps: how long a reader waits, and whether zooming is smooth.
//   node scale_test.mjs PAGE_DIR
import { join } from "node:path";
import { Browser, check, temporaryFolder } from "./browser.mjs";
import { kSteps, startLargeCluster } from "./large_cluster.mjs";

const [pageDir] = process.argv.slice(2);
const folder = temporaryFolder();
const kFirstPaint = 1; // seconds
const kRunPage = 2;
const kFrame = 1000 / 60; // milliseconds
const kSlack = 3; // for a machine that does other things, too

const browser = await Browser.launch(pageDir);
const cluster = await startLargeCluster(join(pageDir, "dist"));

/** Seconds from the request for the page until `ready` holds in it. */
async function opened(page, path, ready) {
  await page.goto(cluster.address + path, { waitUntil: "commit" });
  await page.waitForFunction(ready);
  const seconds = await page.evaluate(() => performance.now() / 1000);
  const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  return { paint: (await paint.jsonValue()) / 1000, ready: seconds };
}

/** The milliseconds of frames while the pointer moves over the charts and zooms into them. */
async function frames(page) {
  const box = await page.locator(".chart .u-over").first().boundingBox();
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const note = (now) => (window.frames_.push(now - last), (last = now), requestAnimationFrame(note));
    requestAnimationFrame(note);
  });
  for (let round = 0; round < 3; ++round) {
    const at = (part) => box.x + box.width * part;
    await page.mouse.move(at(0.2 + round * 0.1), box.y + 40);
    await page.mouse.down();
    await page.mouse.move(at(0.8 - round * 0.1), box.y + 40, { steps: 30 });
    await page.mouse.up();
    await page.waitForTimeout(300);
  }
  return page.evaluate(() => window.frames_.slice(1).sort((a, b) => a - b));
}

try {
  const page = await browser.page(cluster.address);
  await page.goto(`${cluster.address}/favicon.svg`); // the browser itself is warm
  const list = await opened(page, "/runs", () => document.querySelectorAll("table.runs tbody tr").length >= 100);
  console.log(`runs: first paint ${list.paint.toFixed(2)} s, 200 runs listed after ${list.ready.toFixed(2)} s`);
  check(list.paint < kSlack * kFirstPaint, `the first paint took ${list.paint} s`);

  const ready = () =>
    document.querySelectorAll(".charts .u-wrap").length >= 9 && document.querySelector(".heat canvas")?.height === 512;
  const run = await opened(page, "/runs/r00000", ready);
  console.log(
    `run: first paint ${run.paint.toFixed(2)} s, ${kSteps} steps and 512 ranks drawn after ${run.ready.toFixed(2)} s`,
  );
  check(run.ready < kSlack * kRunPage, `the page of a run took ${run.ready} s`);
  check((await page.textContent("#content")).includes("rank 137 straggles"), "the straggler is not named");

  const times = await frames(page);
  const median = times[times.length >> 1];
  console.log(
    `zooming: ${times.length} frames, median ${median.toFixed(1)} ms, p95 ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms`,
  );
  check(median < kSlack * kFrame, `half of the frames take longer than ${median} ms`);
  check((await page.textContent("#content")).includes("whole run"), "dragging over a chart did not zoom");
  await page.screenshot({ path: join(folder, "run.png"), fullPage: true });

  const links = await opened(page, "/cluster", () => document.querySelector(".heat canvas")?.height === 64);
  console.log(`cluster: 64 nodes and 4,032 links drawn after ${links.ready.toFixed(2)} s`);
  await page.screenshot({ path: join(folder, "cluster.png"), fullPage: true });
  check(browser.faults.length === 0, `faults:\n${browser.faults.join("\n")}`);
} finally {
  await browser.close();
  cluster.stop();
}
