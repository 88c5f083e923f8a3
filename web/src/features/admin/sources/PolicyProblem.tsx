/** Why the server does not take a policy: a sentence for each thing that does not fit. */

import { useEffect, useRef } from "react";

import { ApiError } from "@/api/client";
import { Banner } from "@/components/ui/Banner";

import { Problem } from "../parts/Problem";
import { problemsOf } from "./rules";

export function PolicyProblem({ error }: { error: unknown }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  const problems = error instanceof ApiError ? problemsOf(error.details) : [];
  if (problems.length < 2) return <Problem error={error} />;
  return (
    <div ref={place}>
      <Banner kind="danger">
        <ul className="list-disc pl-4">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      </Banner>
    </div>
  );
}
