/** Short messages at the edge of the page, from anywhere. `Toaster` shows them. */

interface Toast {
  id: number;
  text: string;
  tone: "neutral" | "danger";
  action?: { label: string; run: () => void };
}

type ToastListener = (toasts: readonly Toast[]) => void;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<ToastListener>();

function publish(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener(toasts);
}

/** Show a message; it goes by itself. */
export function toast(text: string, more: Partial<Omit<Toast, "id" | "text">> = {}): void {
  lastId += 1;
  publish([...toasts.slice(-3), { tone: "neutral", ...more, id: lastId, text }]);
}

export function dismissToast(id: number): void {
  publish(toasts.filter((each) => each.id !== id));
}

export function currentToasts(): readonly Toast[] {
  return toasts;
}

export function onToasts(listener: ToastListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
