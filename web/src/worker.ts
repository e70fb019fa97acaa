/** The worker: one session, which answers what it is asked, one after the other. */

import { Control } from "./control.js";
import type { Port, Request, Said, Source, Start } from "./messages.js";
import { settings, type Chosen } from "./options.js";
import { Session, type Instantiate } from "./session.js";
import { DATABASE, Storage } from "./storage/storage.js";
import { MemoryStore, type Store } from "./storage/store.js";

/** What the save state may hold beyond a reply. */
const STATE_ROOM = 64 << 10;

/** Serves what comes through `port`. `place` makes what neither is in memory nor nowhere. */
export function serve(port: Port, place: (source: Source, options: Chosen) => Promise<Store>): void {
  let ready: Promise<(request: Request) => unknown> | undefined;
  const say = (said: Said) => port.post(said);
  port.listen(async (taken) => {
    const message = taken as Start | Request;
    try {
      if (message.kind === "start") {
        ready = start(message, say, place);
        await ready;
        say({ kind: "done", value: undefined });
      } else {
        say({ kind: "done", value: (await ready)?.(message) });
      }
    } catch (error) {
      const { message, name } = error instanceof Error ? error : new Error(String(error));
      say({ kind: "failed", message, name });
    }
  });
}

async function start(
  { source, title, options, modules, cell }: Start,
  say: (said: Said) => void,
  place: (source: Source, options: Chosen) => Promise<Store>,
): Promise<(request: Request) => unknown> {
  const component = "./component/sqlarium.js";
  const { instantiate } = (await import(component)) as { instantiate: Instantiate };
  const store = await open(source, options, place);
  const storage = new Storage(store, options.disk);
  const control = new Control(
    options.reply + STATE_ROOM,
    (line) => say({ kind: "notify", line }),
    (state) => say({ kind: "state", state }),
    cell,
  );
  const inMemory = source.place === "memory" && !source.bytes;
  const session = new Session(
    { instantiate, modules },
    settings(options, title, inMemory, store.writable),
    { timeout: options.timeout, fuel: options.fuel, memory: options.memory },
    storage,
    control,
    (text) => say({ kind: "log", text }),
  );
  if (store.warning) say({ kind: "log", text: store.warning });
  if (source.place !== "nowhere") {
    for (const warning of session.check()) say({ kind: "log", text: warning });
  }
  return (request) => {
    switch (request.kind) {
      case "answer":
        return session.answer(request.line, request.number);
      case "overlong":
        return session.overlong(request.head);
      case "triage":
        return session.triage(request.line, request.state, request.running, request.queued);
      case "copy":
        return storage.copy();
      case "close":
        session.close();
        return storage.close();
    }
  };
}

async function open(
  source: Source,
  options: Chosen,
  place: (source: Source, options: Chosen) => Promise<Store>,
): Promise<Store> {
  switch (source.place) {
    case "memory":
      return new MemoryStore(true, [[DATABASE, source.bytes ?? new Uint8Array(0)]]);
    case "nowhere":
      return new MemoryStore(false);
    default:
      return place(source, options);
  }
}
