import assert from "node:assert/strict";
import { test } from "node:test";

import { snapshot } from "../src/snapshot.js";

test("copies plain values", () => {
  const when = new Date("2026-11-23T10:00:00Z");
  assert.deepEqual(snapshot({ a: [1, "x", null, true], b: { gte: when, lt: 2n ** 64n } }, "filters"), {
    a: [1, "x", null, true],
    b: { gte: "2026-11-23T10:00:00.000Z", lt: "18446744073709551616" },
  });
});

test("does not change with its original", () => {
  const filters = { a: { in: [1, 2] } };
  const copy = snapshot(filters, "filters");
  filters.a.in.push(3);
  assert.deepEqual(copy, { a: { in: [1, 2] } });
});

test("refuses what JSON would turn into another question", () => {
  const circle: Record<string, unknown> = {};
  circle["a"] = circle;
  const table: ReadonlyArray<readonly [unknown, RegExp]> = [
    [{ a: undefined }, /filters\/a: undefined/],
    [{ a: NaN }, /filters\/a: NaN/],
    [{ a: [1, Infinity] }, /filters\/a\/1: Infinity/],
    [{ a: () => 1 }, /filters\/a: function/],
    [{ a: new Map() }, /filters\/a: expected a plain object/],
    [{ a: new Date(NaN) }, /filters\/a: an invalid date/],
    [circle, /more than 32 levels/],
  ];
  for (const [value, message] of table) assert.throws(() => snapshot(value, "filters"), message);
});

test("takes objects without a prototype", () => {
  const bare = Object.assign(Object.create(null) as object, { a: 1 });
  assert.deepEqual(snapshot(bare, "filters"), { a: 1 });
});
