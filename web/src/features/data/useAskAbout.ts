/** Begin a question about a source: it is named in the composer of a new chat. */

import { useNavigate } from "@tanstack/react-router";

import { EMPTY_DRAFT, NEW, readDraft, writeDraft } from "@/features/composer/drafts";

export function useAskAbout(): (name: string) => void {
  const navigate = useNavigate();
  return (name) => {
    const begun = readDraft(NEW);
    const text = `${begun.text}${begun.text ? "\n" : ""}@${name} `;
    writeDraft(NEW, { ...EMPTY_DRAFT, ...begun, text });
    void navigate({ to: "/" });
  };
}
