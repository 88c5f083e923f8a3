/** Sending a decision, and what went wrong with it. */

import { useState } from "react";

import type { ApprovalPart } from "@/events/state";
import type { Decision } from "@/events/types";
import { useErrorText } from "@/lib/errorText";

import { useTurn } from "../turnContext";

interface Deciding {
  isSending: boolean;
  problem: string | null;
  send: (decision: Decision) => void;
}

export function useDecision(part: ApprovalPart): Deciding {
  const { decide } = useTurn();
  const errorText = useErrorText();
  const [problem, setProblem] = useState<string | null>(null);
  const send = (decision: Decision) => {
    setProblem(null);
    decide(part.requestId, decision).catch((error: unknown) => setProblem(errorText(error)));
  };
  return { isSending: part.state === "sending", problem, send };
}
