// Lets Node 20 load the conformance suite, which names `globSync` of Node 22 for a command that is not used here.
import { register } from "node:module";

const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === "fs" && context.parentURL?.includes("@modelcontextprotocol/conformance")) {
    const text = 'export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];';
    return { url: "data:text/javascript," + encodeURIComponent(text), shortCircuit: true };
  }
  return next(specifier, context);
}`;
register("data:text/javascript," + encodeURIComponent(hooks));
