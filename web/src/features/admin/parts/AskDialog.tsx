/** Ask before a change that matters; a refusal is shown here. */

import type { ComponentProps } from "react";

import { ConfirmDialog } from "@/components/ui/ConfirmDialog";

import { Problem } from "./Problem";

interface AskDialogProps extends Omit<ComponentProps<typeof ConfirmDialog>, "isHarmless"> {
  isDanger?: boolean;
  error: unknown;
}

export function AskDialog({ isDanger = false, error, ...rest }: AskDialogProps) {
  return (
    <ConfirmDialog {...rest} isHarmless={!isDanger}>
      <Problem error={error} />
    </ConfirmDialog>
  );
}
