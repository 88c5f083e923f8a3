/** A skill with its whole instructions. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Markdown } from "@/components/Markdown";
import { Dialog } from "@/components/ui/Dialog";

import { Facts } from "../parts/Facts";
import { Loaded } from "../parts/Loaded";
import { skillQuery } from "./queries";

interface SkillDialogProps {
  name: string;
  agent: string;
  onClose: () => void;
}

export function SkillDialog({ name, agent, onClose }: SkillDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const skill = useQuery(skillQuery(name, agent));
  return (
    <Dialog isOpen onClose={onClose} title={`/${name}`} width="wide">
      <div className="grid gap-4 pb-4">
        <Loaded query={skill}>
          {({ description, tools, files, content }) => (
            <>
              <p className="text-sm">{description}</p>
              <Facts
                facts={[
                  ...(tools.length > 0
                    ? [{ name: t("skills.tools"), value: <code>{tools.join(", ")}</code> }]
                    : []),
                  ...(files.length > 0
                    ? [{ name: t("skills.files"), value: <code>{files.join(", ")}</code> }]
                    : []),
                ]}
              />
              <section
                aria-label={t("skills.instructions")}
                className="rounded-lg border border-line bg-ground p-4 text-sm"
              >
                <Markdown text={content} />
              </section>
            </>
          )}
        </Loaded>
      </div>
    </Dialog>
  );
}
