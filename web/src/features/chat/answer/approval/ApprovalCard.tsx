/** A request that waits for a person: what will be done, and every answer that it takes. */

import { memo } from "react";

import { isQuestion, type ApprovalPart } from "@/events/state";

import { useTurn } from "../turnContext";
import { ApprovalRequest } from "./ApprovalRequest";
import { Outcome } from "./Outcome";
import { QuestionRequest } from "./QuestionRequest";

export const ApprovalCard = memo(function ApprovalCard({ part }: { part: ApprovalPart }) {
  const { isRunning } = useTurn();
  const isOpen = isRunning && (part.state === "open" || part.state === "sending");
  if (!isOpen) return <Outcome part={part} />;
  return isQuestion(part) ? <QuestionRequest part={part} /> : <ApprovalRequest part={part} />;
});
