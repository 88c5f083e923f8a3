/** The figures of the block that is being rendered, by number. */

import { createContext } from "react";

import type { PlacedFigure } from "./placing";

export const BlockFigures = createContext<readonly PlacedFigure[]>([]);
