/** What went wrong with a change, beside where it was asked for; it comes into view by itself. */

import { useEffect, useRef } from "react";

import { Banner } from "@/components/ui/Banner";
import { useErrorText } from "@/lib/errorText";

export function Problem({ error }: { error: unknown }) {
  const textOf = useErrorText();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  if (error === null || error === undefined) return null;
  return (
    <div ref={place}>
      <Banner kind="danger">{textOf(error)}</Banner>
    </div>
  );
}
