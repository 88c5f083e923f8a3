/** Content that is opened and closed; it stays so while its turn is out of sight. */

import { ChevronRight } from "lucide-react";
import { useId, useState, type ReactNode } from "react";

import { classes } from "@/lib/classes";

import { useTurn } from "./turnContext";

interface FoldProps {
  /** Unique in the turn. */
  id: string | number;
  title: ReactNode;
  isOpenByItself?: boolean;
  /** Buttons at the end of the line. */
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** A line that opens to more. What is inside is rendered only while it is open. */
export function Fold({ id, title, isOpenByItself, actions, className, children }: FoldProps) {
  const bodyId = useId();
  const { turnId } = useTurn();
  const [isOpen, setIsOpen] = useOpen(`${turnId}:${id}`, isOpenByItself ?? false);
  return (
    <div className={classes("min-w-0", className)}>
      <div className="flex items-center gap-1">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={isOpen ? bodyId : undefined}
          onClick={() => setIsOpen(!isOpen)}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-md py-1 text-left text-sm"
        >
          <ChevronRight
            className={classes(
              "size-4 shrink-0 text-muted transition-transform",
              isOpen && "rotate-90",
            )}
            aria-hidden
          />
          {title}
        </button>
        {actions}
      </div>
      {isOpen && <div id={bodyId}>{children}</div>}
    </div>
  );
}

const chosen = new Map<string, boolean>();

/** Whether a part is open: as chosen, otherwise as it is by itself. */
function useOpen(id: string, isOpenByItself: boolean): [boolean, (isOpen: boolean) => void] {
  const [, setCount] = useState(0);
  const choose = (isOpen: boolean) => {
    chosen.set(id, isOpen);
    setCount((count) => count + 1);
  };
  return [chosen.get(id) ?? isOpenByItself, choose];
}
