import assert from "node:assert/strict";
import { test } from "node:test";

import { parseJson } from "../src/json.js";

/** Long digits in a text force the exact reader. */
const LONG = '"0000000000000000"';

test("keeps every digit of integers", () => {
  assert.deepEqual(parseJson("[9007199254740991,9007199254740993,-9223372036854775808,123456789012345678901234567890]"), [
    9007199254740991, 9007199254740993n, -9223372036854775808n, 123456789012345678901234567890n,
  ]);
});

test("gives other numbers as numbers", () => {
  assert.deepEqual(parseJson(`[0,-0,1.5,901.00,1e3,-2.5E-3,12345678901234567.25,${LONG}]`), [
    0, -0, 1.5, 901, 1000, -0.0025, 12345678901234567.25, "0000000000000000",
  ]);
});

test("gives numbers as the text that was printed", () => {
  assert.deepEqual(parseJson('{"a":901.00,"b":[1,null,true,"7"],"c":-0.10}', "text"), { a: "901.00", b: ["1", null, true, "7"], c: "-0.10" });
});

test("agrees with JSON.parse", () => {
  const values = [
    null, true, false, "", "\"\\\b\n\u2028\ud83d\ude00", [], {}, [[]], [{}, [1, [2, [3]]]], { a: { b: { c: [null, "x"] } } }, { "": 1, " ": 2, "\\\"": 3 },
    { "a\\": "b\\\\", "c": "\\\"" }, [1, -1, 0.1, 1e300, 5e-324, 123456789012345],
  ];
  for (const value of values) {
    for (const space of [undefined, 2, "\t"]) {
      const text = JSON.stringify([value, "0000000000000000"], null, space);
      assert.deepEqual(parseJson(text), JSON.parse(text), text);
    }
  }
});

test("refuses what is not JSON", () => {
  const broken = [
    "", " ", "{", "[", "[1", "[1,]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "{\"a\":1,}", "\"", "\"\\\"", "tru", "nul", "01", "1.", ".5", "+1", "-", "1e", "[1 2]", "1 2", "[1]]",
    "\"\u0001\"", "\"\\x\"", "NaN", "'a'", `${"[".repeat(200)}${"]".repeat(200)}`,
  ];
  for (const text of broken) assert.throws(() => parseJson(text, "text"), SyntaxError, text);
});

test("takes a column that is called like a prototype", () => {
  const row = parseJson(`{"__proto__":${LONG},"constructor":9007199254740993}`) as object;
  assert.deepEqual(Object.entries(row), [["__proto__", "0000000000000000"], ["constructor", 9007199254740993n]]);
  assert.equal(Object.getPrototypeOf(row), Object.prototype);
});

test("reads random documents as JSON.parse does", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const make = (depth: number): unknown => {
    switch (random(depth > 4 ? 5 : 7)) {
      case 0: return null;
      case 1: return random(2) === 0;
      case 2: return random(1_000_000) - 500_000;
      case 3: return (random(1_000_000) - 500_000) / 1_024;
      case 4: return String.fromCharCode(...Array.from({ length: random(6) }, () => [34, 92, 47, 10, 65, 233, 0x2028, 0xd83d, 0xde00][random(9)] ?? 65));
      case 5: return Array.from({ length: random(5) }, () => make(depth + 1));
      default: return Object.fromEntries(Array.from({ length: random(5) }, (_, index) => [`k${index}"\\`, make(depth + 1)]));
    }
  };
  for (let round = 0; round < 2_000; round += 1) {
    const text = JSON.stringify([make(0), "0000000000000000"]);
    assert.deepEqual(parseJson(text), JSON.parse(text), text);
  }
});
