/** How the pages of a list are read. */
interface Pages {
  items: string;
  cursor: string;
  next: string;
  id: string;
}

/** Every item of a list, once. */
export class Items<T> implements AsyncIterableIterator<T> {
  /** Resumes the list after the last item that was returned. */
  cursor: string | undefined;
  readonly #fetch: (cursor: Record<string, string>) => Promise<object>;
  readonly #pages: Pages;
  #waiting: T[] = [];
  #next: string | undefined;
  #isLast = false;

  /** @internal */
  constructor(
    fetch: (cursor: Record<string, string>) => Promise<object>,
    pages: Pages,
    params: object,
  ) {
    this.#fetch = fetch;
    this.#pages = pages;
    this.cursor = (params as Record<string, string | undefined>)[pages.cursor] ?? undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    const { items, cursor, next, id } = this.#pages;
    while (this.#waiting.length === 0) {
      if (this.#isLast) {
        return { done: true, value: undefined };
      }
      const start = this.cursor === undefined ? {} : { [cursor]: this.cursor };
      const page = (await this.#fetch(start)) as Record<string, unknown>;
      this.#waiting = [...(page[items] as T[])];
      this.#next = next === "last_id" ? undefined : ((page[next] as string | null) ?? undefined);
      const isEmpty = this.#waiting.length === 0;
      const standsStill = isEmpty && (this.#next === undefined || this.#next === this.cursor);
      this.#isLast = page["has_more"] !== true || standsStill;
      if (isEmpty && this.#next !== undefined) {
        this.cursor = this.#next;
      }
    }
    const value = this.#waiting.shift() as T;
    this.cursor = (value as Record<string, string>)[id];
    if (this.#waiting.length === 0 && this.#next !== undefined) {
      this.cursor = this.#next;
    }
    return { done: false, value };
  }
}
