// How the meshes of a job compare, as the planner's search ranks them.
import { int } from "../api/client";
import type { MeshRanking, RankedMesh } from "../api/types";
import { Section } from "../components/parts";
import { bytes, counted, meshText, money, orNone, percent, seconds, span } from "../format";

const nameOf = (row: RankedMesh) => `${meshText(row.mesh)}, ZeRO ${row.zero ?? 0}`;

function keptText(row: RankedMesh): string {
  const memory = row.memory;
  if (!memory?.keep) return "–";
  return `${memory.keep} on ${memory.kept ?? "device"}${memory.working === "windows" ? ", windows" : ""}`;
}

interface Shown {
  cost: boolean;
  fp8: boolean;
}

function Row({ row, place, shown }: { row: RankedMesh; place: number; shown: Shown }) {
  const { predicted, cost } = row;
  return (
    <tr class={row.chosen ? "chosen" : ""}>
      <td class="name" data-name="Mesh">
        {place}. {nameOf(row)} {row.chosen && <span class="tag">chosen</span>}
      </td>
      <td class="num" data-name="Step time">
        {orNone(predicted?.stepSeconds || undefined, seconds)}
      </td>
      <td class="num" data-name="All steps">
        {orNone(predicted?.allSeconds || undefined, span)}
      </td>
      <td class="num" data-name="Device">
        {orNone(int(predicted?.deviceBytes) || undefined, bytes)}
      </td>
      <td class="num" data-name="Host">
        {orNone(predicted ? int(predicted.hostBytes) : undefined, bytes)}
      </td>
      <td class="num" data-name="MFU">
        {orNone(row.causalMfu || undefined, percent)}
      </td>
      {shown.fp8 && (
        <td class="num" data-name="MFU of FP8">
          {orNone(row.fp8Mfu || undefined, percent)}
        </td>
      )}
      {shown.cost && (
        <td class="num" data-name="Cost">
          {cost?.money ? money(cost.money, cost.currency) : "–"}
        </td>
      )}
      <td class="faint" data-name="Keeps">
        {keptText(row)}
      </td>
    </tr>
  );
}

export function Meshes({ ranking }: { ranking: MeshRanking }) {
  const rows = ranking.meshes ?? [];
  const ranked = rows.filter((row) => !row.passedOver);
  const passed = rows.filter((row) => row.passedOver);
  const shown = {
    cost: ranked.some((row) => row.cost?.money),
    fp8: ranked.some((row) => row.fp8Mfu),
  };
  const among = ranking.considered ? `${counted(ranking.considered, "way")} to share the work on ` : "";
  const devices = ranking.kind ? `${among}${ranking.devices} ${ranking.kind}, ` : "";
  return (
    <Section title="Meshes" note={`${devices}${ranking.basis ?? ""}`} id="meshes">
      <table class="cards meshes">
        <thead>
          <tr>
            <th>Mesh</th>
            <th class="num">Step</th>
            <th class="num">All steps</th>
            <th class="num">Device</th>
            <th class="num">Host</th>
            <th class="num">MFU</th>
            {shown.fp8 && <th class="num">MFU of FP8</th>}
            {shown.cost && <th class="num">Cost</th>}
            <th>Keeps</th>
          </tr>
        </thead>
        <tbody>
          {ranked.map((row, i) => (
            <Row key={nameOf(row)} row={row} place={i + 1} shown={shown} />
          ))}
        </tbody>
      </table>
      {passed.length > 0 && (
        <ul class="passed">
          {passed.map((row) => (
            <li key={nameOf(row)}>
              {nameOf(row)}: <span class="faint">{row.passedOver}</span>
            </li>
          ))}
        </ul>
      )}
      {(ranking.reasons ?? []).map((reason) => (
        <p key={reason} class="note">
          No other mesh is ranked: {reason}
        </p>
      ))}
    </Section>
  );
}
