/** The worker in a browser. */

import { OpfsStore } from "./storage/opfs.js";
import { serve } from "./worker.js";

serve(
  {
    post: (message) => self.postMessage(message),
    listen: (take) => self.addEventListener("message", (event) => take(event.data)),
  },
  async (source, options) => {
    if (source.place !== "opfs") throw new Error(`There is no place ${source.place} in a browser.`);
    return OpfsStore.open(source.name, options.readonly);
  },
);
