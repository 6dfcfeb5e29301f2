// Makes src/generated.ts out of the OpenAPI document of the server: types of all schemas, and of each operation its method,
// path, parameters, body and data.
//
//     node scripts/generate.mjs            writes the file
//     node scripts/generate.mjs --check    exit code 1 if the file is not what it would write
//
// Knows the part of JSON Schema that the document uses, and refuses any other.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const DOCUMENT = new URL("../../../src/api/openapi/openapi.json", import.meta.url);
export const OUTPUT = new URL("../src/generated.ts", import.meta.url);
const METHODS = ["get", "put", "post", "delete", "patch"];
const KNOWN = new Set([
  "$ref", "type", "description", "title", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf",
  "allOf", "format", "pattern", "contentMediaType", "contentEncoding", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
  "multipleOf", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "uniqueItems", "default",
  "deprecated", "readOnly", "writeOnly", "example", "examples",
]);

/** The text of the file. */
export function generate(document) {
  const { schemas } = document.components;
  const parts = [
    "// Generated from src/api/openapi/openapi.json by scripts/generate.mjs. Do not edit: run `npm run generate`.",
    ...Object.entries(schemas).map(([name, schema]) => declaration(name, schema)),
    operationTypes(document),
    operationTable(document),
    bounds(schemas, document),
  ];
  return `${parts.join("\n\n")}\n`;
}

function declaration(name, schema) {
  const isPlainObject = schema.type === "object" && schema.properties !== undefined;
  const keyword = isPlainObject ? `export interface ${name} ` : `export type ${name} = `;
  return `${comment(schema, "")}${keyword}${typeOf(schema, "")}${isPlainObject ? "" : ";"}`;
}

function typeOf(schema, indent) {
  for (const word of Object.keys(schema)) {
    if (!KNOWN.has(word)) throw new Error(`the schema word \`${word}\` is not known here: ${JSON.stringify(schema).slice(0, 200)}`);
  }
  if (schema.$ref !== undefined) return schema.$ref.replace("#/components/schemas/", "");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return union(choices.map((part) => typeOf(part, indent)));
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${typeOf(part, indent)})`).join(" & ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case "object": return objectOf(schema, indent);
    case "array": return `Array<${typeOf(schema.items ?? {}, indent)}>`;
    case "integer": case "number": return "number";
    case "string": case "boolean": case "null": return schema.type;
    case undefined: return "unknown";
    default: throw new Error(`the type \`${schema.type}\` is not known here`);
  }
}

function union(types) {
  return [...new Set(types)].join(" | ");
}

function objectOf(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const mark = required.has(name) ? "" : "?";
    return { type: typeOf(part, inner), mark, text: `${comment(part, inner)}${inner}${nameOf(name)}${mark}: ${typeOf(part, inner)};` };
  });
  const others = schema.additionalProperties;
  if (others === undefined || others === false || others === true) {
    if (members.length === 0) return "Record<string, unknown>";
  } else if (members.length === 0) {
    return `Record<string, ${typeOf(others, indent)}>`;
  } else {
    // An index signature has to admit the types of all named members.
    const optional = members.some(({ mark }) => mark === "?") ? ["undefined"] : [];
    const all = union([typeOf(others, inner), ...members.map(({ type }) => type), ...optional]);
    members.push({ text: `${inner}[name: string]: ${all};` });
  }
  return `{\n${members.map(({ text }) => text).join("\n")}\n${indent}}`;
}

function nameOf(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function comment(schema, indent) {
  if (schema.description === undefined) return "";
  return `${indent}/** ${schema.description.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ")} */\n`;
}

/** Every operation with its path, in the order of the document. */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method] !== undefined).map((method) => ({ path, method: method.toUpperCase(), ...methods[method] })));
}

function operationTypes(document) {
  const members = operationsOf(document).map((operation) => {
    const fields = ["path", "query"].map((place) => `    ${place}: ${parametersOf(operation, place)};`);
    const body = operation.requestBody?.content["application/json"]?.schema;
    fields.push(`    body: ${body === undefined ? "undefined" : typeOf(body, "    ")};`, `    data: ${dataOf(operation)};`);
    return `  /** ${operation.summary} */\n  ${operation.operationId}: {\n${fields.join("\n")}\n  };`;
  });
  return `/** What each operation takes, and the \`data\` that it answers. */\nexport interface OperationTypes {\n${members.join("\n")}\n}`;
}

function parametersOf(operation, place) {
  const all = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  if (all.length === 0) return "{}";
  const members = all.map(({ name, required, description, schema, content }) => {
    const type = typeOf(schema ?? Object.values(content)[0].schema, "      ");
    return `${comment({ description }, "      ")}      ${nameOf(name)}${required ? "" : "?"}: ${type};`;
  });
  return `{\n${members.join("\n")}\n    }`;
}

function dataOf(operation) {
  const content = operation.responses["200"]?.content ?? {};
  const schema = content["application/json"]?.schema;
  const data = schema?.properties?.data ?? content["application/ld+json"]?.schema;
  return data === undefined ? "unknown" : typeOf(data, "    ");
}

function operationTable(document) {
  const members = operationsOf(document).map(({ operationId, method, path, parameters = [] }) => {
    const isIdempotent = parameters.some(({ name }) => name === "Idempotency-Key");
    return `  ${operationId}: { method: "${method}", path: ${JSON.stringify(path)}, takesIdempotencyKey: ${isIdempotent} },`;
  });
  return `/** Where each operation stands, and whether it takes an \`Idempotency-Key\`. */\nexport const operations = {\n${members.join("\n")}\n} as const;`;
}

function bounds(schemas, document) {
  const key = operationsOf(document).flatMap(({ parameters = [] }) => parameters).find(({ name }) => name === "Idempotency-Key");
  const members = [
    ["pageLimitMax", schemas.QueryBody.properties.limit.maximum],
    ["streamLimitMax", schemas.StreamBody.properties.limit.maximum],
    ["slugPattern", schemas.Slug.pattern],
    ["idempotencyKeyPattern", key.schema.pattern],
  ];
  const lines = members.map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  return `/** Bounds that the client has to know. */\nexport const bounds = {\n${lines.join("\n")}\n} as const;`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = generate(JSON.parse(readFileSync(DOCUMENT, "utf8")));
  if (process.argv.includes("--check")) {
    if (readFileSync(OUTPUT, "utf8") !== text) {
      console.error("src/generated.ts is not what the OpenAPI document says; run `npm run generate`");
      process.exit(1);
    }
  } else {
    writeFileSync(OUTPUT, text);
  }
}
