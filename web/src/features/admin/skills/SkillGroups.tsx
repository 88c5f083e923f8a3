/** Skills under a heading for where they come from. */

import { Pencil, Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { IconButton } from "@/components/ui/IconButton";

type Skill = Schemas["SkillInfo"];
type Open = (dialog: "view" | "edit" | "delete", name: string) => void;

const SOURCES: Skill["source"][] = ["own", "package", "custom", "shipped"];

export function SkillGroups({ skills, onOpen }: { skills: Skill[]; onOpen: Open }) {
  const { t } = useTranslation("mcpAdmin");
  return SOURCES.map((source) => {
    const found = skills.filter((skill) => skill.source === source);
    if (found.length === 0 && source !== "own") return null;
    return (
      <section key={source} aria-label={t(`skills.sources.${source}`)} className="grid gap-2">
        <h3 className="text-sm font-medium">
          {t(`skills.sources.${source}`)}
          <span className="ml-2 text-xs font-normal text-muted">
            {t(`skills.sourceHints.${source}`)}
          </span>
        </h3>
        {found.length === 0 ? (
          <p className="text-sm text-muted">{t("skills.noOwn")}</p>
        ) : (
          <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
            {found.map((skill) => (
              <SkillRow key={skill.name} skill={skill} onOpen={onOpen} />
            ))}
          </ul>
        )}
      </section>
    );
  });
}

function SkillRow({ skill, onOpen }: { skill: Skill; onOpen: Open }) {
  const { t } = useTranslation("mcpAdmin");
  const { name } = skill;
  return (
    <li className="flex flex-wrap items-start gap-2 px-4 py-3">
      <div className="min-w-48 flex-1">
        <code className="font-mono text-[13px] font-medium">/{name}</code>
        <p className="line-clamp-3 text-xs text-muted [overflow-wrap:anywhere]">
          {skill.description}
        </p>
      </div>
      <div className="flex items-center">
        <Button
          size="small"
          aria-label={t("skills.viewOf", { name })}
          onClick={() => onOpen("view", name)}
        >
          {t("skills.view")}
        </Button>
        {skill.source === "own" && (
          <>
            <IconButton
              isSmall
              icon={Pencil}
              label={t("skills.edit", { name })}
              onClick={() => onOpen("edit", name)}
            />
            <IconButton
              isSmall
              icon={Trash2}
              label={t("skills.delete", { name })}
              onClick={() => onOpen("delete", name)}
            />
          </>
        )}
      </div>
    </li>
  );
}
