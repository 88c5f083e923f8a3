/** Begin a question about a source: it is named in the composer of a new chat. */

import { useNavigate } from "@tanstack/react-router";

import { EMPTY_DRAFT, readDraft, useNewDraftId, writeDraft } from "@/features/composer/drafts";

export function useAskAbout(): (name: string) => void {
  const navigate = useNavigate();
  const draftId = useNewDraftId();
  return (name) => {
    const begun = readDraft(draftId);
    const text = `${begun.text}${begun.text ? "\n" : ""}@${name} `;
    writeDraft(draftId, { ...EMPTY_DRAFT, ...begun, text });
    void navigate({ to: "/" });
  };
}
