/** Why a server could not be added or changed, and what to do. */

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { useErrorText } from "@/lib/errorText";

const OFF = /switched off for this organisation/i;

/** It may appear below what is seen of a long form, so it comes into view. */
export function Refusal({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <div ref={(shown) => shown?.scrollIntoView({ block: "nearest" })}>
      <Reason error={error} />
    </div>
  );
}

function Reason({ error }: { error: unknown }) {
  const { t, i18n } = useTranslation("mcp");
  const errorText = useErrorText();
  const isEnglish = i18n.language.startsWith("en"); // the server's own words say it in English
  if (!(error instanceof ApiError)) return <Banner kind="danger">{errorText(error)}</Banner>;
  if (error.code === "too_many_mcp_servers") {
    const { limit, used } = limitOf(error.details);
    return (
      <Titled title={t("refused.limitTitle")}>
        {limit === null ? error.message : t("refused.limit", { limit, used })}
      </Titled>
    );
  }
  if (error.code === "mcp_server_not_allowed" && OFF.test(error.message))
    return <Titled title={t("refused.offTitle")}>{t("refused.off")}</Titled>;
  if (error.code === "mcp_server_not_allowed")
    return (
      <Titled title={t("refused.notAllowedTitle")}>
        {error.message} {!isEnglish && t("refused.notAllowedHint")}
      </Titled>
    );
  return <Banner kind="danger">{errorText(error)}</Banner>;
}

function Titled({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Banner kind="warn">
      <strong className="block font-medium">{title}</strong>
      {children}
    </Banner>
  );
}

function limitOf(details: unknown): { limit: number | null; used: number } {
  const { limit, used } = (details ?? {}) as { limit?: unknown; used?: unknown };
  return {
    limit: typeof limit === "number" ? limit : null,
    used: typeof used === "number" ? used : 0,
  };
}
