/** Class names joined; a later Tailwind class wins over an earlier one of its kind. */

import { clsx, type ClassValue } from "clsx";
import { twMerge } from "tailwind-merge";

export function classes(...values: ClassValue[]): string {
  return twMerge(clsx(values));
}
