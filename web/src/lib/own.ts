/** An object's own value of a name that comes from outside: never what objects inherit. */
export function own<Value>(from: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(from, name) ? from[name] : undefined;
}
