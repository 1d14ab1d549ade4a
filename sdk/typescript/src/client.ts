import { Core } from "./core.js";
import type { ClientOptions } from "./core.js";
import { Resources } from "./generated/operations.js";

/** A client of one App and environment. */
export class Vestry extends Resources {
  readonly #core: Core;

  constructor(options: ClientOptions) {
    const core = new Core(options);
    super(core);
    this.#core = core;
  }

  /** What JSON shows of a client. */
  toJSON(): { baseUrl: string; environment: string } {
    return this.#core.shown();
  }

  /** What `util.inspect` shows of a client. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const { baseUrl, environment } = this.#core.shown();
    return `Vestry { baseUrl: '${baseUrl}', environment: '${environment}' }`;
  }
}
