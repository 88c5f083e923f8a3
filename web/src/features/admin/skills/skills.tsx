/** Skills by where they come from, those that were left out and why, and one's own to write. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { GraduationCap, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Markdown } from "@/components/Markdown";
import { Banner } from "@/components/ui/Banner";
import { Dialog } from "@/components/ui/Dialog";
import { EmptyState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { formatNumber } from "@/lib/format";

import { choice, EditDialog, Fields, lines } from "../kit/form";
import { confirmed, RowButtons, Section } from "../kit/list";
import { Facts, Loaded } from "../kit/load";
import { allAgentsQuery } from "../queries";
import { MOST_CHARACTERS, skillName, type SkillProblem } from "./skillText";

type Skill = Schemas["SkillInfo"];

const KEYS = [["skills"]];
const SOURCES: Skill["source"][] = ["own", "package", "custom", "shipped"];
const USUAL_AGENT = "general";

/** Some agents have skills of their own; without a name it is the usual agent. */
const withAgent = (agent: string) => (agent === "" ? {} : { agent });

const skillsOfQuery = (agent: string) =>
  queryOptions({
    queryKey: ["skills", "list", agent],
    queryFn: () => call(api.GET("/api/skills", { params: { query: withAgent(agent) } })),
  });

const skillQuery = (name: string, agent: string) =>
  queryOptions({
    queryKey: ["skills", "one", name, agent],
    queryFn: () => {
      const params = { path: { skill_name: name }, query: withAgent(agent) };
      return call(api.GET("/api/skills/{skill_name}", { params }));
    },
    staleTime: 0,
  });

const pathOf = (name: string) => ({ params: { path: { skill_name: name } } });

export function SkillsSection() {
  const { t } = useTranslation("mcpAdmin");
  const [form, setForm] = useState({ agent: "" });
  const skills = useQuery(skillsOfQuery(form.agent));
  const agents = (useQuery(allAgentsQuery).data?.items ?? [])
    .filter((agent) => agent.name !== USUAL_AGENT)
    .map(({ name }) => ({ value: name, label: name }));
  return (
    <Section
      title={t("skills.title")}
      text={t("skills.text")}
      add={{
        label: t("skills.add"),
        dialog: (close) => <SkillEditor name={null} text={t("skills.template")} onClose={close} />,
      }}
    >
      <div className="w-full sm:w-64">
        <Fields
          form={form}
          change={(changes) => setForm({ ...form, ...changes })}
          fields={[choice("agent", t("skills.agent"), agents, { empty: USUAL_AGENT })]}
        />
      </div>
      <Loaded query={skills}>
        {({ items, warnings }) => (
          <>
            <SkillWarnings warnings={warnings} />
            {items.length === 0 ? (
              <EmptyState icon={GraduationCap} title={t("skills.none")} />
            ) : (
              SOURCES.map((source) => (
                <SkillGroup
                  key={source}
                  source={source}
                  skills={items.filter((skill) => skill.source === source)}
                  agent={form.agent}
                />
              ))
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

/** Skills that could not be used, each with the reason. */
function SkillWarnings({ warnings }: { warnings: Schemas["SkillWarning"][] }) {
  const { t } = useTranslation("mcpAdmin");
  if (warnings.length === 0) return null;
  return (
    <Banner kind="warn">
      <p className="font-medium">{t("skills.warnings", { count: warnings.length })}</p>
      <ul className="mt-1 grid gap-1">
        {warnings.map((warning) => (
          <li key={`${warning.source} ${warning.path}`}>
            <code className="text-xs">{warning.path}</code> ({t(`skills.sources.${warning.source}`)}
            ): {warning.reason}
          </li>
        ))}
      </ul>
    </Banner>
  );
}

interface SkillGroupProps {
  source: Skill["source"];
  skills: Skill[];
  agent: string;
}

function SkillGroup({ source, skills, agent }: SkillGroupProps) {
  const { t } = useTranslation("mcpAdmin");
  if (skills.length === 0 && source !== "own") return null;
  return (
    <section aria-label={t(`skills.sources.${source}`)} className="grid gap-2">
      <h3 className="text-sm font-medium">
        {t(`skills.sources.${source}`)}
        <span className="ml-2 text-xs font-normal text-muted">
          {t(`skills.sourceHints.${source}`)}
        </span>
      </h3>
      {skills.length === 0 ? (
        <p className="text-sm text-muted">{t("skills.noOwn")}</p>
      ) : (
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {skills.map((skill) => (
            <SkillRow key={skill.name} skill={skill} agent={agent} />
          ))}
        </ul>
      )}
    </section>
  );
}

function SkillRow({ skill, agent }: { skill: Skill; agent: string }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const { name } = skill;
  return (
    <li className="flex flex-wrap items-start gap-2 px-4 py-3">
      <div className="min-w-48 flex-1">
        <code className="font-mono text-[13px] font-medium">/{name}</code>
        <p className="line-clamp-3 text-xs text-muted [overflow-wrap:anywhere]">
          {skill.description}
        </p>
      </div>
      <RowButtons
        actions={[
          {
            label: t("skills.viewOf", { name }),
            text: t("skills.view"),
            dialog: (close) => <SkillDialog name={name} agent={agent} onClose={close} />,
          },
          skill.source === "own" && {
            label: t("skills.edit", { name }),
            icon: Pencil,
            dialog: (close) => <ExistingSkill name={name} onClose={close} />,
          },
          skill.source === "own" &&
            confirmed({
              label: t("skills.delete", { name }),
              icon: Trash2,
              text: common("delete"),
              isDanger: true,
              title: t("skills.deleteTitle", { name }),
              explanation: t("skills.deleteText"),
              run: () => call(api.DELETE("/api/skills/{skill_name}", pathOf(name))),
              keys: KEYS,
              done: t("skills.deleted", { name }),
            }),
        ]}
      />
    </li>
  );
}

interface SkillDialogProps {
  name: string;
  agent: string;
  onClose: () => void;
}

/** A skill with its whole instructions. */
function SkillDialog({ name, agent, onClose }: SkillDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const skill = useQuery(skillQuery(name, agent));
  const listed = (title: string, values: string[]) =>
    values.length > 0 ? [{ name: title, value: <code>{values.join(", ")}</code> }] : [];
  return (
    <Dialog isOpen onClose={onClose} title={`/${name}`} width="wide">
      <div className="grid gap-4 pb-4">
        <Loaded query={skill}>
          {({ description, tools, files, content }) => (
            <>
              <p className="text-sm">{description}</p>
              <Facts
                facts={[...listed(t("skills.tools"), tools), ...listed(t("skills.files"), files)]}
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

function ExistingSkill({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  const skill = useQuery({ ...skillQuery(name, ""), refetchOnWindowFocus: false });
  if (skill.data) return <SkillEditor name={name} text={skill.data.text} onClose={onClose} />;
  return (
    <Dialog isOpen onClose={onClose} title={t("skills.editTitle", { name })} width="wide">
      <Loaded query={skill}>{() => null}</Loaded>
    </Dialog>
  );
}

interface SkillEditorProps {
  /** As it is stored; null: it is new. */
  name: string | null;
  text: string;
  onClose: () => void;
}

/** The whole SKILL.md; the name in its front matter is the one it is saved under. */
function SkillEditor({ name: before, text, onClose }: SkillEditorProps) {
  const { t } = useTranslation("mcpAdmin");
  const nameOf = ({ content }: { content: string }) => {
    const found = skillName(content);
    return typeof found === "string" ? "" : found.name;
  };
  return (
    <EditDialog<{ content: string }, unknown, { content: SkillProblem }>
      width="wide"
      title={before === null ? t("skills.addTitle") : t("skills.editTitle", { name: before })}
      description={t("skills.editorText")}
      initial={() => ({ content: text })}
      check={({ content }) => {
        const found = skillName(content);
        return typeof found === "string" ? { content: found } : {};
      }}
      fields={({ form, problems }) => [
        lines("content", t("skills.content"), {
          hint: `${t("skills.contentHint")} ${t("skills.characters", {
            count: form.content.length,
            most: formatNumber(MOST_CHARACTERS),
          })}`,
          error: problems.content && t(`skills.problems.${problems.content}`),
          rows: 18,
          spellCheck: true,
          className: "font-mono text-[13px] leading-relaxed",
        }),
      ]}
      note={(form) => {
        const name = nameOf(form);
        if (name === "") return null;
        return before === null || before === name
          ? t("skills.willBe", { name })
          : t("skills.renamed", { name, before });
      }}
      run={({ content }) =>
        call(
          api.PUT("/api/skills/{skill_name}", {
            ...pathOf(nameOf({ content })),
            body: { content },
          }),
        )
      }
      keys={KEYS}
      onDone={(_saved, form) => {
        toast(t("skills.saved", { name: nameOf(form) }));
        onClose();
      }}
      onClose={onClose}
    />
  );
}
