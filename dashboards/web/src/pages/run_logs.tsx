import type { TargetedEvent } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, int } from "../api/client";
import { useSteps } from "../api/live";
import type { Job, LogsReply } from "../api/types";
import { Empty, Section } from "../components/parts";
import { meshSize } from "../format";
import { newestAttempt } from "../job";

const kTail = 400; // lines
const kMostText = 400_000; // characters
const kPause = 1000; // milliseconds between two looks

interface Log {
  text: string;
  offset: number; // of its end
  problem: string;
}

function decoded(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

async function more(job: string, query: Record<string, string | number>, log: Log, signal: AbortSignal): Promise<Log> {
  const reply = await get<LogsReply>(`jobs/${job}/logs`, query, signal);
  let { text, offset } = log;
  for (const piece of reply.pieces ?? []) {
    const data = decoded(piece.data ?? "");
    text += new TextDecoder().decode(data);
    offset = int(piece.offset) + data.length;
  }
  return { text: text.slice(-kMostText), offset, problem: "" };
}

const kNothing: Log = { text: "", offset: 0, problem: "" };

/**
 * The log's end, and what live steps bring: the page asks for more only when there is news of the job, one request at
 * a time.
 */
function useLog(job: Job, rank: number): Log {
  const [log, setLog] = useState(kNothing);
  const reader = useRef<() => void>(() => undefined);
  const epoch = newestAttempt(job)?.epoch;
  useEffect(() => {
    if (!epoch) return;
    const stop = new AbortController();
    let [busy, asked, known] = [false, 0, kNothing];
    const read = async () => {
      if (busy || Date.now() - asked < kPause || document.visibilityState !== "visible") return;
      [busy, asked] = [true, Date.now()];
      const from: Record<string, number> = known.offset > 0 ? { offset: known.offset } : { tail: kTail };
      try {
        known = await more(job.id, { rank, attempt: epoch, ...from }, known, stop.signal);
      } catch (error) {
        known = { ...known, problem: error instanceof Error ? error.message : String(error) };
      }
      busy = false;
      if (!stop.signal.aborted) setLog(known);
    };
    setLog(kNothing);
    reader.current = () => void read();
    void read();
    return () => stop.abort();
  }, [job.id, rank, epoch]);
  useSteps(
    job.id,
    useCallback(() => reader.current(), []),
  );
  // The last lines come after the last step.
  useEffect(() => {
    const timer = setTimeout(() => reader.current(), 2 * kPause);
    return () => clearTimeout(timer);
  }, [job.state]);
  return log;
}

export function Logs({ job }: { job: Job }) {
  const [rank, setRank] = useState(0);
  const [find, setFind] = useState("");
  const log = useLog(job, rank);
  const ref = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const ranks = meshSize(newestAttempt(job)?.mesh);
  const lines = find
    ? log.text
        .split("\n")
        .filter((line) => line.toLowerCase().includes(find.toLowerCase()))
        .join("\n")
    : log.text;
  useEffect(() => {
    if (atEnd.current && ref.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [lines]);
  // The event may come after the text has left the page: it has the element, the reference no more.
  const onScroll = (event: TargetedEvent<HTMLPreElement>) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
    atEnd.current = scrollTop + clientHeight > scrollHeight - 20;
  };
  return (
    <Section
      title="Log"
      id="log"
      note={newestAttempt(job) ? `attempt ${newestAttempt(job)!.epoch}` : undefined}
      tools={
        <>
          <label>
            rank{" "}
            <input
              type="number"
              min={0}
              max={Math.max(0, ranks - 1)}
              value={rank}
              onChange={(event) => setRank(Math.min(Math.max(0, event.currentTarget.valueAsNumber || 0), ranks - 1))}
            />
          </label>
          <input
            type="search"
            placeholder="Find in the log"
            aria-label="Find in the log"
            value={find}
            onInput={(event) => setFind(event.currentTarget.value)}
          />
        </>
      }
    >
      {log.problem && <p class="problem">{log.problem}</p>}
      {lines ? (
        <pre class="log" ref={ref} onScroll={onScroll} tabIndex={0}>
          {lines}
        </pre>
      ) : (
        <Empty>{find ? "No line has this." : "The rank has said nothing yet."}</Empty>
      )}
    </Section>
  );
}
