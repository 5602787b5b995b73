import { useState } from "preact/hooks";
import { logIn } from "../api/client";
import { startAgain } from "../api/live";

export function Login() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await logIn(token);
      startAgain();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <main class="login">
      <form class="panel" onSubmit={submit}>
        <h1>Log in</h1>
        <label>
          Token
          <input
            type="password"
            autocomplete="current-password"
            required
            autofocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button class="primary">Log in</button>
        <p class="note">
          <code>ringmaster pki token</code> makes one. This browser keeps a cookie in its place, which no script can
          read.
        </p>
      </form>
    </main>
  );
}
