import { admin } from "./admin";
import { data } from "./data";
import { mcp } from "./mcp";
import { mcpAdmin } from "./mcpAdmin";
import { settings } from "./settings";

/** What the other pages need. */
export const later = { data, mcp, mcpAdmin, admin, settings };
