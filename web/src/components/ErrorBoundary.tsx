/** A part that fails to render does not take the page with it. */

import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";

interface Props {
  children: ReactNode;
}

export class ErrorBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return <Failed onRetry={() => this.setState({ hasFailed: false })} />;
  }
}

function Failed({ onRetry }: { onRetry: () => void }) {
  const { t } = useTranslation();
  return (
    <div role="alert" className="grid justify-items-center gap-3 p-8 text-center text-sm">
      <p>{t("crashed")}</p>
      <div className="flex gap-2">
        <Button onClick={onRetry}>{t("tryAgain")}</Button>
        <Button onClick={() => location.reload()}>{t("reload")}</Button>
      </div>
    </div>
  );
}
