/** Opens the whole of a result; the grid is loaded when it is first needed. */

import { lazy, Suspense } from "react";

import type { TableDialogProps } from "./TableDialog";

const TableDialog = lazy(() =>
  import("./TableDialog").then((loaded) => ({ default: loaded.TableDialog })),
);

export function TableViewer(props: TableDialogProps) {
  if (!props.isOpen) return null;
  return (
    <Suspense fallback={null}>
      <TableDialog {...props} />
    </Suspense>
  );
}
