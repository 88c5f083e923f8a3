/** Write a skill of one's own: the whole SKILL.md. Mount it to open it. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Dialog } from "@/components/ui/Dialog";

import { Loaded } from "../parts/Loaded";
import { skillQuery } from "./queries";
import { SkillForm } from "./SkillForm";

interface SkillEditorProps {
  /** The skill to change; null writes a new one. */
  name: string | null;
  onClose: () => void;
}

export function SkillEditor({ name, onClose }: SkillEditorProps) {
  const { t } = useTranslation("mcpAdmin");
  if (name !== null) return <ExistingSkill name={name} onClose={onClose} />;
  return <SkillForm name={null} text={t("skills.template")} onClose={onClose} />;
}

function ExistingSkill({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  const skill = useQuery({ ...skillQuery(name, ""), refetchOnWindowFocus: false });
  if (skill.data) return <SkillForm name={name} text={skill.data.text} onClose={onClose} />;
  return (
    <Dialog isOpen onClose={onClose} title={t("skills.editTitle", { name })} width="wide">
      <Loaded query={skill}>{() => null}</Loaded>
    </Dialog>
  );
}
