// The page's places, as paths: /runs/ID. The controller serves index.html for each of them
// (controller/http/static_page.cc has their first parts).
import { useEffect, useState } from "preact/hooks";

export interface Place {
  page: "runs" | "run" | "plan" | "compare" | "cluster" | "history" | "unknown";
  id: string;
  query: URLSearchParams;
}

function placeOf(location: { pathname: string; search: string }): Place {
  const [first = "", id = "", part = ""] = location.pathname.split("/").slice(1);
  const query = new URLSearchParams(location.search);
  if (first === "" || (first === "runs" && !id)) return { page: "runs", id: "", query };
  if (first === "runs") return { page: part === "plan" ? "plan" : "run", id, query };
  if (first === "compare" || first === "cluster" || first === "history") return { page: first, id, query };
  return { page: "unknown", id: first, query };
}

const moved = new EventTarget();

export function go(path: string, how: "push" | "replace" = "push") {
  if (how === "push") history.pushState(null, "", path);
  else history.replaceState(null, "", path);
  if (how === "push") scrollTo(0, 0);
  moved.dispatchEvent(new Event("moved"));
}

/** Links within the page change the place without loading it again. */
function onClick(event: MouseEvent) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const link = (event.target as Element | null)?.closest?.("a[href^='/']");
  if (!link || link.hasAttribute("download") || link.getAttribute("href")!.startsWith("/api")) return;
  event.preventDefault();
  go(link.getAttribute("href")!);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location));
  useEffect(() => {
    const update = () => setPlace(placeOf(location));
    addEventListener("popstate", update);
    moved.addEventListener("moved", update);
    document.addEventListener("click", onClick);
    return () => {
      removeEventListener("popstate", update);
      moved.removeEventListener("moved", update);
      document.removeEventListener("click", onClick);
    };
  }, []);
  return place;
}
