/** The import `storage`: files by name, and nothing but the names that the owner granted. */

import { File, Quota, Refusal, type Named } from "./file.js";
import { MemoryBytes, MemoryStore, type Store } from "./store.js";

/** The name under which the guest knows the database. */
export const DATABASE = "main.db";
/** The name under which it keeps what undoes writes. */
export const RECORD = "//undo";

/** What SQLite puts beside a database. */
const SUFFIXES = ["", "-journal", "-wal"];

type Options = { readWrite?: boolean; create?: boolean; exclusive?: boolean };

/** What outlives an instance. */
export class Storage {
  readonly #store: Store;
  readonly #quota: Quota;
  readonly #record = new MemoryStore(true);
  readonly #open = new Map<string, Named>();

  /** `diskBytes`: what all files together may grow by. */
  constructor(store: Store, diskBytes: number) {
    this.#store = store;
    this.#quota = new Quota(diskBytes);
  }

  open(name: string, role: string, options: Options): File {
    if (role === "plain" || role === "staged") throw new Refusal("denied");
    if (name === "") return new File(this.#temporary(), this.#quota);
    const store = this.#place(name);
    const known = this.#open.get(name);
    if (options.exclusive && options.create && (known || store.exists(name))) throw new Refusal("exists");
    return new File(known ?? this.#named(store, name, options), this.#quota);
  }

  #named(store: Store, name: string, options: Options): Named {
    if (options.create && !store.writable && !store.exists(name)) throw new Refusal("read-only");
    const bytes = store.open(name, Boolean(options.create && store.writable));
    if (!bytes) throw new Refusal("not-found");
    const named: Named = {
      bytes,
      writable: store.writable,
      holders: new Set(),
      reading: name === DATABASE && store.reading ? (begins) => store.reading?.(begins) : undefined,
      closed: () => {
        bytes.close();
        this.#open.delete(name);
      },
    };
    this.#open.set(name, named);
    return named;
  }

  #temporary(): Named {
    const bytes = new MemoryBytes();
    const closed = () => this.#quota.grow(-bytes.size());
    return { bytes, writable: true, holders: new Set(), reading: undefined, closed };
  }

  #place(name: string): Store {
    if (SUFFIXES.some((suffix) => name === RECORD + suffix)) return this.#record;
    if (SUFFIXES.some((suffix) => name === DATABASE + suffix)) return this.#store;
    throw new Refusal("denied");
  }

  delete(name: string): void {
    const store = this.#place(name);
    if (!store.writable) throw new Refusal("read-only");
    const size = this.#size(store, name);
    this.#open.delete(name);
    if (!store.delete(name)) throw new Refusal("not-found");
    this.#quota.grow(-size);
  }

  #size(store: Store, name: string): number {
    const open = this.#open.get(name);
    if (open) return open.bytes.size();
    const bytes = store.open(name, false);
    const size = bytes?.size() ?? 0;
    bytes?.close();
    return size;
  }

  exists(name: string, writable: boolean): boolean {
    const store = this.#place(name);
    return store.exists(name) && (store.writable || !writable);
  }

  /** The database as it stands, between two calls. */
  copy(): Uint8Array<ArrayBuffer> {
    const bytes = this.#store.open(DATABASE, false);
    const copy = new Uint8Array(bytes?.size() ?? 0);
    bytes?.read(0, copy);
    if (!this.#open.has(DATABASE)) bytes?.close();
    return copy;
  }

  /** Closes what an instance had open that is no more. */
  abandon(): void {
    for (const file of [...File.open.values()]) file[Symbol.dispose]();
  }

  close(): void {
    this.abandon();
    this.#store.close();
  }
}
