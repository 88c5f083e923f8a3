/** What the page does with the user's servers: which dialog is open, tests, switching, deleting. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { changeServer, deleteServer, refreshMcp, testServer, type UserServer } from "./queries";
import { useTrials, type Trials } from "./useTrials";

type Opened = { dialog: "add" } | { dialog: "edit" | "delete" | "credentials"; server: UserServer };

export interface ServerActions {
  opened: Opened | null;
  open: (opened: Opened | null) => void;
  trials: Trials;
  test: (name: string) => void;
  toggle: (server: UserServer) => void;
  remove: (server: UserServer) => void;
  isRemoving: boolean;
}

export function useServerActions(userId: string): ServerActions {
  const { t } = useTranslation("mcp");
  const errorText = useErrorText();
  const [opened, open] = useState<Opened | null>(null);
  const trials = useTrials();
  const failed = (error: unknown) => toast(errorText(error), { tone: "danger" });
  const toggling = useMutation({
    mutationFn: (server: UserServer) =>
      changeServer(userId, server.name, { disabled: !server.disabled }),
    onSuccess: (server) => trials.forget(server.name),
    onError: failed,
    onSettled: refreshMcp,
  });
  const removing = useMutation({
    mutationFn: (server: UserServer) => deleteServer(userId, server.name),
    onSuccess: (_, server) => {
      trials.forget(server.name);
      toast(t("deleted", { name: server.name }));
      open(null);
    },
    onError: failed,
    onSettled: refreshMcp,
  });
  return {
    opened,
    open,
    trials,
    test: (name) => trials.run(name, () => testServer(userId, name)),
    toggle: (server) => toggling.mutate(server),
    remove: (server) => removing.mutate(server),
    isRemoving: removing.isPending,
  };
}
