import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { start, useCluster, type Connection } from "./api/live";
import { isLoggedIn, logOut } from "./api/client";
import { Empty } from "./components/parts";
import { ClusterPage } from "./pages/cluster";
import { Compare } from "./pages/compare";
import { History } from "./pages/history";
import { Login } from "./pages/login";
import { PlanPage } from "./pages/plan";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
import { type Place, usePlace } from "./router";
import { applyTheme, chosenTheme, type Theme } from "./theme";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/tables.css";
import "./styles/charts.css";
import "./styles/cluster.css";
import "./styles/narrow.css";

const kWords: Record<Connection, string> = {
  connecting: "connecting",
  live: "live",
  lost: "reconnecting",
  login: "logged out",
};
const kNext: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const kNav: [string, string, Place["page"][]][] = [
  ["/runs", "Runs", ["runs", "run", "plan", "compare"]],
  ["/cluster", "Cluster", ["cluster"]],
  ["/history", "History", ["history"]],
];

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme());
  const next = () => {
    applyTheme(kNext[theme]);
    setTheme(kNext[theme]);
  };
  return (
    <button class="quiet" onClick={next} title={`Colours: ${theme}`} aria-label={`Colours: ${theme}; change`}>
      {theme === "auto" ? "◐" : theme === "light" ? "○" : "●"}
    </button>
  );
}

function Top({ place }: { place: Place }) {
  const { connection, problem } = useCluster();
  return (
    <header class="page">
      <a href="/runs" class="brand">
        <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
          <circle
            cx="16"
            cy="16"
            r="10"
            fill="none"
            stroke="currentColor"
            stroke-width="4"
            stroke-dasharray="12.7 3"
            transform="rotate(-80 16 16)"
          />
        </svg>
        Ringmaster
      </a>
      <nav>
        {kNav.map(([path, name, pages]) => (
          <a key={path} href={path} aria-current={pages.includes(place.page) ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <span class={`connection ${connection}`} role="status" title={problem}>
        {kWords[connection]}
      </span>
      {connection === "live" && isLoggedIn() && (
        <button class="quiet" onClick={() => void logOut().then(() => location.reload())}>
          Log out
        </button>
      )}
      <ThemeButton />
    </header>
  );
}

function Body({ place }: { place: Place }) {
  switch (place.page) {
    case "runs":
      return <Runs />;
    case "run":
      return <Run key={place.id} id={place.id} />;
    case "plan":
      return <PlanPage key={place.id} id={place.id} />;
    case "compare":
      return <Compare ids={(place.query.get("ids") ?? "").split(",").filter(Boolean)} />;
    case "cluster":
      return <ClusterPage run={place.query.get("run") ?? ""} />;
    case "history":
      return <History query={place.query} />;
    case "unknown":
      return (
        <main>
          <Empty>There is no page {place.id}.</Empty>
        </main>
      );
  }
}

function Page() {
  const place = usePlace();
  const { connection } = useCluster();
  useEffect(() => {
    document.title = [place.id, place.page, "Ringmaster"].filter(Boolean).join(" · ");
  }, [place]);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Top place={place} />
      <div id="content" tabIndex={-1}>
        {connection === "login" ? <Login /> : <Body place={place} />}
      </div>
    </>
  );
}

applyTheme(chosenTheme());
start();
render(<Page />, document.getElementById("page")!);
