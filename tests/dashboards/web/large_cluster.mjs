// A controller's HTTP side with made-up contents: 64 nodes of 8 devices, a run of 512 ranks and 100,000 steps. It
// answers from formulas, as large as the real answers would be.
import { createServer } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { extname, join } from "node:path";

const kNodes = 64;
const kDevices = 8;
const kRanks = kNodes * kDevices;
export const kSteps = 100_000;
const kStraggler = 137;
const kGiB = 2 ** 30;
const kBegin = Date.UTC(2026, 0, 1) / 1000;
const kSecondsOfStep = 9;
const kPhases = {
  attention: 3.4,
  gemm: 2.7,
  ring_exposed: 1.9,
  gather_exposed: 0.2,
  reduce_exposed: 0.3,
  optimizer: 0.3,
  idle: 0.2,
};
const kMemory = { weights: 9, gradients: 4, optimizer: 11, activations: 14, workspace: 2.2, communication: 0.6 };
const kTypes = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

// Even noise without state, from -1 to 1.
const noise = (a, b = 0) => {
  const x = Math.sin(a * 12.9898 + b * 78.233) * 43758.5453;
  return 2 * (x - Math.floor(x)) - 1;
};
const time = (step) => new Date((kBegin + step * kSecondsOfStep) * 1000).toISOString();

function valueOf(quantity, step, rank) {
  const [group, name] = quantity.split("/");
  const slow = rank === kStraggler && step > kSteps * 0.8 ? 1.4 : 1;
  switch (group) {
    case "loss":
      return 2.1 + 8 * Math.exp(-step / 6000) + 0.06 * noise(step);
    case "held_out_loss":
      return 2.15 + 8 * Math.exp(-step / 6000);
    case "causal_mfu":
      return 0.41 + 0.01 * noise(step, 2);
    case "full_mfu":
      return 0.62 + 0.01 * noise(step, 2);
    case "hfu":
      return 0.47 + 0.01 * noise(step, 2);
    case "tokens_per_second":
      return 455_000 + 9000 * noise(step, 3);
    case "grad_norm":
      return 0.4 + 3 * Math.exp(-step / 3000) + 0.05 * noise(step, 4);
    case "learning_rate":
      return 2e-5 * Math.min(1, step / 2000) * (0.55 + 0.45 * Math.cos((Math.PI * step) / kSteps));
    case "seconds":
      return 9 + 0.1 * noise(step, 5);
    case "phase":
      return kPhases[name] * (1 + 0.05 * noise(step, rank));
    case "waited":
      return kPhases.ring_exposed + 0.5 + 0.05 * noise(step, rank) - (slow - 1) * 4;
    case "memory":
      return Math.round(kMemory[name] * kGiB);
    default:
      return 0;
  }
}

function curve(quantity, rank, from, to, points) {
  const every = quantity === "held_out_loss" ? 1000 : 1;
  const stride = Math.max(every, Math.ceil((to - from + 1) / points));
  const [steps, times, values] = [[], [], []];
  for (let step = Math.ceil(from / every) * every; step <= to; step += stride) {
    steps.push(String(step));
    times.push(kBegin + step * kSecondsOfStep);
    values.push(valueOf(quantity, step, rank));
  }
  return { quantity, unit: "", rank, steps, times, values };
}

const kQuantities = [
  ...["loss", "held_out_loss", "causal_mfu", "full_mfu", "hfu", "tokens_per_second", "seconds", "waited"],
  ...["grad_norm", "learning_rate"],
  ...Object.keys(kPhases).map((name) => `phase/${name}`),
  ...Object.keys(kMemory).map((name) => `memory/${name}`),
];

function steps(query) {
  if (!query.get("quantity")) return { quantities: kQuantities, ranks: [...Array(kRanks).keys()] };
  const from = Math.max(1, Number(query.get("from") || 1));
  const to = Math.min(kSteps, Number(query.get("to") || kSteps));
  const ranks =
    query.get("rank") === "all" ? [...Array(kRanks).keys()] : (query.get("rank") || "0").split(",").map(Number);
  const points = Number(query.get("max_points") || 1000);
  const quantities = query.get("quantity").split(",");
  return { curves: quantities.flatMap((quantity) => ranks.map((rank) => curve(quantity, rank, from, to, points))) };
}

const lastStep = () => ({
  step: String(kSteps),
  numSteps: String(kSteps * 1.2),
  tokens: "4194304",
  tokensTotal: String(4194304 * kSteps),
  loss: 2.13,
  seconds: 9,
  causalMfu: 0.41,
  fullMfu: 0.62,
  hfu: 0.47,
  peakName: "bf16 181 TFLOP/s published",
  phaseSeconds: kPhases,
  memoryBytes: Object.fromEntries(
    Object.entries(kMemory).map(([kind, size]) => [kind, String(Math.round(size * kGiB))]),
  ),
  time: new Date().toISOString(),
});

const placement = Array.from({ length: kRanks }, (_, rank) => ({
  nodeId: `node-${String(Math.floor(rank / kDevices)).padStart(2, "0")}`,
  device: rank % kDevices,
  coordinates: { data: Math.floor(rank / 128), ring: Math.floor(rank / 8) % 16, ulysses: rank % 8 },
}));

function job(index) {
  const attempt = {
    epoch: "2",
    state: "ATTEMPT_STATE_RUNNING",
    mesh: { data: 4, ring: 16, ulysses: 8, tensor: 1 },
    placement,
    started: time(60_000),
    zero: 3,
    network: "nccl",
    lastCheckpointStep: "99000",
    measuredStepSeconds: 9.02,
    predicted: { stepSeconds: 8.7, allSeconds: 8.7 * kSteps * 1.2, deviceBytes: String(40 * kGiB), correction: 1.02 },
    cost: { money: 41250.5, currency: "USD", seconds: 900_000 },
    memory: {
      tileTokens: "4096",
      chunkTokens: "65536",
      keep: "input",
      alpha: 0.4,
      kept: "host",
      working: "windows",
      prefetch: 2,
    },
    lastStep: lastStep(),
  };
  const before = {
    ...attempt,
    epoch: "1",
    state: "ATTEMPT_STATE_FAILED",
    started: time(0),
    ended: time(60_000),
    cause: "node-17 was lost",
    failureClass: "lost",
    lastCheckpointStep: "59900",
  };
  return {
    id: `r${String(index).padStart(5, "0")}`,
    owner: ["ada", "grace", "linus"][index % 3],
    spec: {
      name: `llama3-8b-${index}`,
      model: { preset: "llama3-8b" },
      stages: [{ context: "262144", batch: "4194304" }],
      precision: "bf16",
      resources: { maxCostUsd: 60000 },
    },
    state: index === 0 ? "JOB_STATE_RUNNING" : index % 5 === 0 ? "JOB_STATE_FAILED" : "JOB_STATE_SUCCEEDED",
    submitted: time(-index * 100),
    ...(index === 0 ? {} : { ended: time(kSteps - index * 100) }),
    attempts: [before, attempt],
    lastStep: lastStep(),
    lastEvaluation: { step: "100000", loss: 2.15 },
    numSteps: String(kSteps * 1.2),
    cost: { money: 71250.25, currency: "USD", kwh: 41000, kgCo2: 15000 },
    alarms: [{ epoch: "2", time: time(82_000), text: "rank 137 takes 1.4 times as long as the others" }],
  };
}

const listed = (one) => ({ ...one, attempts: one.attempts.map(({ placement: _, ...attempt }) => attempt) });
const jobs = () => ({ jobs: Array.from({ length: 200 }, (_, i) => listed(job(i))) });

function node(index) {
  const id = `node-${String(index).padStart(2, "0")}`;
  return {
    id,
    state: index === 17 ? "NODE_STATE_UNREACHABLE" : "NODE_STATE_READY",
    sessionUp: index !== 17,
    inventory: {
      hostname: id,
      cpuModel: "AMD EPYC 9454",
      cores: 96,
      memoryBytes: String(768 * kGiB),
      devices: Array.from({ length: kDevices }, (_, i) => ({ index: i, kind: "L40S", memoryBytes: String(45 * kGiB) })),
    },
    busyDevices: [...Array(kDevices).keys()],
    joined: time(0),
    lastSeen: time(kSteps),
  };
}

function links() {
  const nodes = Array.from({ length: kNodes }, (_, i) => node(i));
  const list = [];
  for (let a = 0; a < kNodes; ++a) {
    for (let b = 0; b < kNodes; ++b) {
      if (a === b) continue;
      const near = a >> 3 === b >> 3;
      const bad = a === 21 && b === 29;
      const baseline = near ? 95 : 48;
      list.push({
        from: nodes[a].id,
        to: nodes[b].id,
        bandwidth: bad ? 11 : baseline + 2 * noise(a, b),
        latency: near ? 12e-6 : 31e-6,
        baseline,
        measured: time(1),
        ...(bad ? { degraded: time(90_000) } : {}),
      });
    }
  }
  return {
    nodes: nodes.map((one, i) => ({
      id: one.id,
      hostname: one.id,
      egress: 96,
      ingress: 96,
      group: i >> 3,
      devices: kDevices,
    })),
    links: list,
    survey: { last: "12", measuredLinks: list.length },
  };
}

function answer(path, query) {
  if (path === "/api/v1/jobs" && query.get("ended") === "no") return { jobs: [listed(job(0))] };
  if (path === "/api/v1/jobs" || path === "/api/v1/history") return jobs();
  if (path === "/api/v1/nodes") return { nodes: Array.from({ length: kNodes }, (_, i) => node(i)) };
  if (path === "/api/v1/links") return links();
  if (path === "/api/v1/link_history") {
    const samples = Array.from({ length: 40 }, (_, i) => ({
      survey: String(40 - i),
      time: time(1000 * (40 - i)),
      bandwidth: 48 + noise(i),
    }));
    return { samples };
  }
  const [, id, part] = path.match(/^\/api\/v1\/jobs\/([^/]+)(?:\/(\w+))?$/) ?? [];
  if (!id) return undefined;
  if (!part) return job(Number(id.slice(1)));
  if (part === "steps") return steps(query);
  if (part === "explain")
    return { findings: [{ kind: "PROBLEM", subject: "rank 137", text: "straggles", remedy: "drain node-17" }] };
  if (part === "placement") return { placement: { predicted: false } };
  if (part === "logs") {
    const text = Array.from({ length: 400 }, (_, i) => `step ${99_600 + i} loss 2.13\n`).join("");
    return query.get("tail")
      ? { pieces: [{ offset: "0", data: Buffer.from(text).toString("base64") }] }
      : { pieces: [] };
  }
  return undefined;
}

function file(folder, path) {
  const wanted = join(folder, path);
  return extname(path) && existsSync(wanted) ? wanted : join(folder, "index.html");
}

/** Serves the built page in `folder` beside the made-up API; returns the address. */
export async function startLargeCluster(folder) {
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/api/v1/stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      response.write("id: x.0\nevent: reset\ndata: {}\n\n");
      return;
    }
    if (url.pathname.startsWith("/api/")) {
      const body = answer(url.pathname, url.searchParams);
      response.writeHead(body ? 200 : 404, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body ?? { code: 5, message: `there is no ${url.pathname}` }));
      return;
    }
    const path = file(folder, url.pathname);
    response.writeHead(200, { "Content-Type": kTypes[extname(path)] });
    response.end(readFileSync(path));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    stop: () => (server.closeAllConnections(), server.close()),
  };
}
