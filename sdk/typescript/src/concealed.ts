/** Fields whose values are not shown. */
const SECRET: ReadonlySet<string> = new Set([
  "access_token",
  "current_password",
  "password",
  "recovery_code",
  "recovery_codes",
  "refresh_token",
  "request_origin_token",
  "secret",
  "session_jwt",
  "session_token",
  "token",
]);

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** What `util.inspect` and `console.log` show of an object with such fields. */
function shown(
  this: Record<string, unknown>,
  _depth: number,
  options: unknown,
  inspect: (value: unknown, options: unknown) => string,
): string {
  const fields = Object.entries(this).map(([name, value]) => [name, SECRET.has(name) && value ? "…" : value]);
  return inspect(Object.fromEntries(fields), options);
}

/** Keeps the tokens of a response out of logs. JSON has them, because backends pass them on. */
export function conceal(value: unknown): void {
  if (typeof value !== "object" || value === null) {
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (SECRET.has(name) && !(INSPECT in value)) {
      Object.defineProperty(value, INSPECT, { value: shown });
    }
    conceal(inner);
  }
}
