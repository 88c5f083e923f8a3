/** Skills by where they come from, what was left out and why, and one's own to write. */

import { useQuery } from "@tanstack/react-query";
import { GraduationCap, Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { AgentFilter } from "./AgentFilter";
import { DeleteSkillDialog } from "./DeleteSkillDialog";
import { skillListQuery } from "./queries";
import { SkillDialog } from "./SkillDialog";
import { SkillEditor } from "./SkillEditor";
import { SkillGroups } from "./SkillGroups";
import { SkillWarnings } from "./SkillWarnings";

type Opened = { dialog: "new" } | { dialog: "view" | "edit" | "delete"; name: string };

export function SkillsSection() {
  const { t } = useTranslation("mcpAdmin");
  const [agent, setAgent] = useState("");
  const skills = useQuery(skillListQuery(agent));
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <Section
      title={t("skills.title")}
      text={t("skills.text")}
      actions={
        <Button variant="primary" onClick={() => setOpened({ dialog: "new" })}>
          <Plus className="size-4" aria-hidden />
          {t("skills.add")}
        </Button>
      }
    >
      <AgentFilter value={agent} onChange={setAgent} />
      <Loaded query={skills}>
        {({ items, warnings }) => (
          <>
            <SkillWarnings warnings={warnings} />
            {items.length === 0 ? (
              <EmptyState icon={GraduationCap} title={t("skills.none")} />
            ) : (
              <SkillGroups skills={items} onOpen={(dialog, name) => setOpened({ dialog, name })} />
            )}
          </>
        )}
      </Loaded>
      {opened?.dialog === "new" && <SkillEditor name={null} onClose={close} />}
      {opened?.dialog === "edit" && <SkillEditor name={opened.name} onClose={close} />}
      {opened?.dialog === "view" && (
        <SkillDialog name={opened.name} agent={agent} onClose={close} />
      )}
      {opened?.dialog === "delete" && <DeleteSkillDialog name={opened.name} onClose={close} />}
    </Section>
  );
}
