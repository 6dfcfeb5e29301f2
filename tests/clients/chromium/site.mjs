// Visits the site for people in Chromium, as a person with and one without JavaScript would.
//
//     node site.mjs URL CHROMIUM [FOLDER]
//
// Every page, in both languages, light and dark, on a phone and on a wide screen: it answers as it should, reports no error
// and no violation of its content security policy, is not wider than the screen, its tables are cards on a phone, labels of
// the plot do not cover each other, and axe-core finds nothing. Then journeys
// by clicks. The same of the operator's pages at ADMIN_URL, signed in with ADMIN_TOKEN. With FOLDER, pictures of the pages go there. Prints one line for each fault; exit code 0 only without any.

import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";

const [url, executablePath, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(path.resolve("package.json")).resolve("axe-core/axe.min.js"), "utf8");
const DATASET = "/datasets/tpch-lineitem";
const PAGES = [
  ["home", "/", 200],
  ["datasets", "/datasets", 200],
  ["search", "/datasets?q=energy+consumption", 200],
  ["nothing-found", "/datasets?q=zzzzzzzz", 200],
  ["overview", DATASET, 200],
  ["columns", `${DATASET}/columns`, 200],
  ["preview", `${DATASET}/preview`, 200],
  ["explore", `${DATASET}/explore`, 200],
  ["explore-open", `${DATASET}/explore?filter=l_quantity&test=lte&value=2.5&filter=l_shipmode&test=eq&value=`, 200],
  ["explore-view", `${DATASET}/explore?filter=l_quantity&test=lte&value=2.5&sort=l_shipdate`, 200],
  ["explore-fault", `${DATASET}/explore?filter=l_quantity&test=lte&value=abc`, 200],
  ["relations", `${DATASET}/relations`, 200],
  ["methodology", `${DATASET}/methodology`, 200],
  ["changelog", `${DATASET}/changelog`, 200],
  ["use", `${DATASET}/use`, 200],
  ["graph", "/graph", 200],
  ["pricing", "/pricing", 200],
  ["status", "/status", 200],
  ["sign-in", "/account/sign-in", 200],
  ["sign-up", "/account/sign-up", 200],
  ["reset", "/account/reset", 200],
  ["confirm", "/account/confirm", 200],
  ["not-found", "/there-is-no-such-page", 404],
];
const ACCOUNT = ["/account", "/account/keys", "/account/keys/KEY", "/account/usage", "/account/credits", "/account/settings"];
const { ADMIN_URL: adminUrl, ADMIN_TOKEN: adminToken } = process.env;
const OPERATOR = [
  "/operator", "/operator/datasets", "/operator/datasets?which=faulty", `/operator${DATASET}`, "/operator/accounts",
  "/operator/accounts?q=checks", "/operator/accounts/acc_1", "/operator/keys/key_1", "/operator/payments", "/operator/publications",
];
// Small datasets with their numbers of rows, which a free query covers.
const SEVERAL = [["tpch-region", 5], ["tpch-nation", 25], ["tpch-supplier", 100]];
// From the home page to a file.
const CLICKS_MAX = 10;
const PASSWORD = "eleven blue horses";
const SCREENS = { phone: { width: 375, height: 812 }, wide: { width: 1280, height: 900 } };
const faults = [];

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const [screen, viewport] of Object.entries(SCREENS))
    for (const colorScheme of ["light", "dark"])
      for (const locale of ["en-GB", "it-IT"]) {
        await lookAtAll(screen, viewport, colorScheme, locale);
        await lookAtOperator(screen, viewport, colorScheme, locale);
      }
  for (const javaScriptEnabled of [true, false])
    for (const locale of ["en-GB", "it-IT"]) await journey(javaScriptEnabled, locale);
  await operate(true, "en-GB");
  await operate(false, "it-IT");
  // A client address opens five accounts a day.
  await steps(false, "en-GB");
  await account(true, "en-GB", "light");
  await account(true, "it-IT", "dark");
  await account(false, "it-IT", "light");
} finally {
  await browser.close();
}
for (const fault of faults) console.log(`FAULT ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

/// Visits each page in one dress.
async function lookAtAll(screen, viewport, colorScheme, locale) {
  const context = await browser.newContext({ viewport, colorScheme, locale });
  for (const [name, at, status] of PAGES) {
    const where = `${name}, ${screen}, ${colorScheme}, ${locale}`;
    const page = await openPage(context, where, status);
    const answer = await page.goto(url + at, { waitUntil: "load" });
    if (answer.status() !== status) faults.push(`${where}: status ${answer.status()}, expected ${status}`);
    const lang = await page.getAttribute("html", "lang");
    if (lang !== locale.slice(0, 2)) faults.push(`${where}: lang ${lang}`);
    await lookAtWidth(page, where);
    await lookAtCards(page, where, viewport.width);
    if (name === "graph") await lookAtGraph(page, where);
    await lookWithAxe(page, where);
    if (folder !== undefined) {
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: path.join(folder, `${name}-${screen}-${colorScheme}-${locale.slice(0, 2)}.png`) });
    }
    await page.close();
  }
  await context.close();
}

/// What axe finds is a fault. It needs a browser that runs scripts.
async function lookWithAxe(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, nodes } of found.violations)
    faults.push(`${where}: axe ${id} at ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" and ")}`);
}

async function lookAtWidth(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) faults.push(`${where}: ${wide} pixels wider than the screen`);
}

/// Below 600 pixels, rows of tables are cards: every value is on the screen, behind the name of its column, and no word is
/// cut into letters.
async function lookAtCards(page, where, width) {
  const rows = await page.locator("main table.stacked tbody tr").count();
  const found = await page.evaluate(() => [...document.querySelectorAll("main table.stacked tbody tr")].flatMap((row) => {
    const cells = [...row.cells].filter((cell) => cell.textContent.trim() !== "");
    const boxes = cells.map((cell) => cell.getBoundingClientRect());
    const screen = document.documentElement.clientWidth;
    return [
      boxes.some((box) => box.left < 0 || box.right > screen) && "off the screen",
      boxes.some((box, place) => place > 0 && box.top < boxes[place - 1].bottom - 1) && "beside each other",
      boxes.some((box) => box.width < 240) && "narrow",
      cells.slice(1).some((cell) => !cell.dataset.label) && "without the name of the column",
    ].filter(Boolean);
  }));
  if (width < 600) for (const fault of new Set(found)) faults.push(`${where}: values of a card are ${fault}`);
  else if (rows > 0 && !found.includes("beside each other")) faults.push(`${where}: cards on a wide screen`);
}

/// No two labels of the plot cover each other, however it is zoomed, and some are shown.
async function lookAtGraph(page, where) {
  if (await page.waitForSelector("svg .node text", { timeout: 10_000, state: "attached" }).catch(() => null) === null)
    return faults.push(`${where}: nothing drawn`);
  const look = async (state) => {
    const { shown, covered, tiny } = await page.evaluate(() => {
      const labels = [...document.querySelectorAll("#graph svg .node text")].filter((label) => label.checkVisibility());
      const boxes = labels.map((label) => [label.textContent, label.getBoundingClientRect()]);
      const isCovered = ([, one], [, other]) =>
        one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
      const pairs = boxes.flatMap((one, place) => boxes.slice(place + 1).filter((other) => isCovered(one, other)).map((other) => `${one[0]} and ${other[0]}`));
      return { shown: boxes.length, covered: pairs, tiny: boxes.filter(([, box]) => box.height < 10).length };
    });
    if (shown < 3) faults.push(`${where}, ${state}: ${shown} labels are shown`);
    if (tiny > 0) faults.push(`${where}, ${state}: ${tiny} labels are too small to read`);
    for (const pair of covered.slice(0, 3)) faults.push(`${where}, ${state}: labels cover each other: ${pair}`);
  };
  await look("as drawn");
  // The middle of a node with its label may be empty.
  await page.locator("#graph svg .node circle").nth(5).hover({ force: true });
  await look("pointed at");
  await page.click('#graph [data-zoom="0.6667"]');
  await look("zoomed out");
  await page.click('#graph [data-zoom="0"]');
  await page.click('#graph [data-zoom="1.5"]');
  await look("zoomed in");
  await page.click('#graph [data-zoom="0"]');
}

/// A page whose errors are faults. The status of the page itself is looked at by whoever opens it.
async function openPage(context, where, status = 200, base = url) {
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(`${where}: ${error}`));
  page.on("console", (message) => {
    const isOwnStatus = status >= 400 && message.text().includes(`status of ${status}`);
    if (message.type() === "error" && !isOwnStatus) faults.push(`${where}: ${message.text()}`);
  });
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText;
    // The browser fetches the icon last, and gives it up when the next page is opened.
    // A file that is downloaded ends the opening of a page in the same way.
    const isLeft = why === "net::ERR_ABORTED" && /\/assets\/icon\.|\/explore\/download(\?|$)/.test(request.url());
    if (!isLeft) faults.push(`${where}: ${request.url()} ${why}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base)) faults.push(`${where}: asks for ${request.url()}`);
  });
  return page;
}

/// From the home page to a dataset and its tabs, to a filtered view with its price, and to the other language.
async function journey(javaScriptEnabled, locale) {
  const where = `journey, ${javaScriptEnabled ? "with" : "without"} JavaScript, ${locale}`;
  const context = await browser.newContext({ viewport: SCREENS.wide, locale, javaScriptEnabled });
  const page = await openPage(context, where);
  page.setDefaultTimeout(10_000);
  try {
    await page.goto(url);
    await page.fill('main form[role="search"] input[type="search"], main form input[type="search"]', "order lines");
    await page.press('main form[role="search"] input[type="search"], main form input[type="search"]', "Enter");
    await page.waitForURL(/\/datasets\?.*q=order(\+|%20)lines/);
    await page.click(`main a[href^="${DATASET}"]`);
    await page.waitForURL(new RegExp(`${DATASET}(\\?|$)`));
    for (const tab of ["columns", "preview", "relations", "methodology", "changelog", "use", "explore"]) {
      await page.click(`nav.tabs a[href^="${DATASET}/${tab}"]`);
      await page.waitForURL(new RegExp(`${DATASET}/${tab}`));
      const current = await page.getAttribute('nav.tabs a[aria-current="page"]', "href");
      if (!current?.startsWith(`${DATASET}/${tab}`)) faults.push(`${where}: the current tab is ${current}`);
    }
    const before = new URL(page.url());
    const language = locale.startsWith("it") ? "en" : "it";
    await page.click(`a[hreflang="${language}"]`);
    await page.waitForLoadState();
    if ((await page.getAttribute("html", "lang")) !== language) faults.push(`${where}: the language did not change`);
    if (new URL(page.url()).pathname !== before.pathname) faults.push(`${where}: another page in the other language`);
    await page.click('nav.tabs a[href*="/columns"]');
    await page.waitForLoadState();
    if ((await page.getAttribute("html", "lang")) !== language) faults.push(`${where}: the language was forgotten`);
  } catch (error) {
    faults.push(`${where}, at ${page.url()}: ${String(error).split("\n")[0]}`);
  }
  await context.close();
}

/// From the home page over a view and the sign-up to a file of it, in few clicks.
async function steps(javaScriptEnabled, locale) {
  const where = `steps, ${javaScriptEnabled ? "with" : "without"} JavaScript, ${locale}`;
  const context = await browser.newContext({ viewport: SCREENS.phone, locale, javaScriptEnabled });
  const page = await openPage(context, where);
  page.setDefaultTimeout(10_000);
  const small = "/datasets/tpch-nation";
  let clicks = 0;
  let fields = 0;
  const click = async (selector, target) => {
    clicks += 1;
    await page.locator(selector).first().click();
    if (target !== undefined) await page.waitForURL(target);
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, click ${clicks}`);
    await lookAtWidth(page, `${where}, click ${clicks}`);
    if (folder !== undefined) await page.screenshot({ path: path.join(folder, `steps-${clicks}.png`), fullPage: true });
  };
  const fill = async (name, value) => {
    fields += 1;
    await page.fill(`main input[name="${name}"]`, value);
  };
  const sign = async (target) => {
    await fill("email", "steps@example.org");
    await fill("password", PASSWORD);
    await click("main form.form button", target);
  };
  try {
    await page.goto(url);
    await click('nav.main-nav a[href$="/datasets"]', /\/datasets$/);
    // It may stand on the second page of the list.
    if ((await page.locator(`main a[href$="${small}"]`).count()) === 0) await click('main a[rel="next"]', /\/datasets\?/);
    await click(`main a[href$="${small}"]`, new RegExp(small));
    await click('nav.tabs a[href*="/explore"]', /\/explore$/);
    await click('button[name="add"][value="n_regionkey"]', /filter=n_regionkey/);
    await click('button[name="pick"]', /test=eq&value=\d/);
    const view = page.url();
    await click('main .cost a[href*="/account/sign-up"]', /\/account\/sign-up\?/);
    await sign(/\/account\/sign-in\?/);
    await sign(/\/explore\?/);
    if (page.url() !== view) faults.push(`${where}: comes back to ${page.url()} instead of ${view}`);
    const [file] = await Promise.all([page.waitForEvent("download"), click('main form.run button[value="csv"]')]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
    if (lines.length !== 6 || !lines[0].startsWith("n_nationkey,")) faults.push(`${where}: the file is ${lines.join(" | ")}`);
    if (clicks > CLICKS_MAX) faults.push(`${where}: ${clicks} clicks`);
    console.log(`${where}: ${clicks} clicks, ${fields} fields`);
  } catch (error) {
    faults.push(`${where}, at ${page.url()}: ${String(error).split("\n")[0]}`);
  }
  await context.close();
}

/// Limits a key by the form of its page.
async function changeLimits(page, where, key) {
  await page.goto(`${url}/account/keys/${key}`);
  await page.fill("#limit-day", "1000");
  await page.fill("#limit-end", "2999-12-31");
  await page.click("form:has(#limit-day) button");
  await page.waitForURL(/done=limited/);
  if ((await page.inputValue("#limit-day")) !== "1000") faults.push(`${where}: the limit is not kept`);
}

/// Shows two pages of a view with the free plan, one of them again, and asks for a file.
async function runView(page, where, javaScriptEnabled, colorScheme) {
  // 55 rows: two pages, and a file that a free query covers.
  const view = `${DATASET}/explore?filter=l_orderkey&test=lte&value=39&sort=l_orderkey`;
  await page.goto(url + view);
  const left = async () => (await page.textContent("main .cost form.run p")).match(/\d+/)[0];
  const before = Number(await left());
  if (javaScriptEnabled) await lookWithAxe(page, `${where}, view signed in`);
  await page.click("main form.run button:not([name])");
  await page.waitForURL(/\/explore\/query\?/);
  const rows = await page.locator("main table.data tbody tr").count();
  if (rows !== 50) faults.push(`${where}: ${rows} rows of the view`);
  for (const screen of Object.values(SCREENS)) {
    await page.setViewportSize(screen);
    await lookAtWidth(page, `${where}, rows, ${screen.width}`);
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, rows, ${screen.width}`);
    if (folder !== undefined) await page.screenshot({ path: path.join(folder, `rows-${screen.width}-${colorScheme}-${where.slice(-5, -3)}.png`), fullPage: true });
  }
  const first = await page.textContent("main table.data tbody");
  await page.click('main form:has(input[name="cursor"]) button');
  await page.waitForLoadState();
  if ((await page.textContent("main table.data tbody")) === first) faults.push(`${where}: the next page is the first one`);
  await page.goto(url + view);
  await page.click("main form.run button:not([name])");
  await page.waitForLoadState();
  if ((await page.textContent("main table.data tbody")) !== first) faults.push(`${where}: the page changed`);
  await page.goto(url + view);
  if (before - Number(await left()) !== 2) faults.push(`${where}: two pages cost ${before - Number(await left())} free queries`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.click('main form.run button[value="csv"]')]);
  const text = readFileSync(await file.path(), "utf8");
  if (!text.startsWith("l_orderkey,")) faults.push(`${where}: the file begins with ${text.slice(0, 40)}`);
}

/// The same view of three datasets, each shown and fetched: none is taken for another one.
async function runViewOfSeveral(page, where) {
  for (const [slug, rows] of SEVERAL) {
    await page.goto(`${url}/datasets/${slug}/explore`);
    await page.click("main form.run button:not([name])");
    await page.waitForURL(new RegExp(`${slug}/explore/query`));
    const shown = await page.locator("main table.data tbody tr").count();
    if (shown !== Math.min(rows, 50)) faults.push(`${where}: ${shown} rows of ${slug}`);
    await page.goto(`${url}/datasets/${slug}/explore`);
    const [file] = await Promise.all([page.waitForEvent("download"), page.click('main form.run button[value="csv"]')]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n").length - 1;
    if (lines !== rows) faults.push(`${where}: the file of ${slug} has ${lines} rows`);
  }
}

/// From the sign-up to a key, rows by it, every page of the account, and out again.
async function account(javaScriptEnabled, locale, colorScheme) {
  const where = `account, ${javaScriptEnabled ? "with" : "without"} JavaScript, ${locale}`;
  const context = await browser.newContext({ viewport: SCREENS.wide, locale, colorScheme, javaScriptEnabled });
  // A form that is refused answers 422.
  const page = await openPage(context, where, 422);
  page.setDefaultTimeout(10_000);
  const email = `visitor-${Date.now()}@example.org`;
  const fill = async (password) => {
    await page.fill('main input[name="email"]', email);
    await page.fill('main input[name="password"]', password);
    await page.click("main form.form button");
    await page.waitForLoadState();
  };
  try {
    await page.goto(`${url}/account`);
    await page.waitForURL(/\/account\/sign-in/);
    await page.click('main a[href*="/account/sign-up"]');
    await page.waitForURL(/\/account\/sign-up/);
    await fill("short");
    if ((await page.getAttribute('main input[name="password"]', "aria-invalid")) !== "true") faults.push(`${where}: a short password is taken`);
    if ((await page.inputValue('main input[name="email"]')) !== email) faults.push(`${where}: the address is forgotten`);
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, refused form`);
    await fill(PASSWORD);
    await page.waitForURL(/\/account\/sign-in\?.*done=signed-up/);
    await fill(PASSWORD);
    await page.waitForURL(/\/account$/);
    await page.click('nav.tabs a[href*="/account/keys"]');
    await page.waitForURL(/\/account\/keys/);
    await page.fill('main input[name="label"]', "a program");
    await page.click("main form.form button");
    const key = (await page.textContent("pre#key")).trim();
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, new key`);
    const copies = await page.locator("button.copy").count();
    if (javaScriptEnabled && copies !== 2) faults.push(`${where}: ${copies} buttons to copy`);
    await page.reload();
    if ((await page.textContent("pre#key")).trim() !== key) faults.push(`${where}: a reload does not show the same key`);
    const rows = await fetch(`${url}/api/v1${DATASET}/query`, {
      method: "POST",
      headers: { "X-Api-Key": key, "Content-Type": "application/json" },
      body: '{"limit": 5}',
    });
    if (rows.status !== 200) faults.push(`${where}: the key gets ${rows.status}`);
    await page.goto(`${url}/account/keys`);
    const made = await page.locator("main tbody tr").count();
    if (made !== 1) faults.push(`${where}: a form and its reload make ${made} keys`);
    const own = new URL(await page.getAttribute("main tbody a", "href"), url).pathname.split("/").pop();
    await changeLimits(page, where, own);
    await runView(page, where, javaScriptEnabled, colorScheme);
    await runViewOfSeveral(page, where);
    for (const screen of Object.values(SCREENS)) {
      await page.setViewportSize(screen);
      for (const at of ACCOUNT.map((at) => at.replace("KEY", own))) {
        const answer = await page.goto(url + at);
        if (answer.status() !== 200) faults.push(`${where}, ${at}: status ${answer.status()}`);
        await lookAtWidth(page, `${where}, ${at}, ${screen.width}`);
        if (javaScriptEnabled) await lookWithAxe(page, `${where}, ${at}, ${screen.width}`);
        if (folder !== undefined) {
          const name = `${at.slice(1).replaceAll("/", "-")}-${screen.width}-${colorScheme}-${locale.slice(0, 2)}.png`;
          await page.screenshot({ path: path.join(folder, name), fullPage: true });
        }
      }
    }
    await buy(page, where, javaScriptEnabled, `credits-bought-${colorScheme}-${locale.slice(0, 2)}`);
    await page.goto(`${url}/account/usage`);
    if (!(await page.textContent("main")).includes(DATASET.split("/").pop())) faults.push(`${where}: the usage lacks the query`);
    await page.click('main .account-bar button[type="submit"]');
    await page.waitForURL(/\/account\/sign-in\?.*done=signed-out/);
    await page.goto(`${url}/account/keys`);
    await page.waitForURL(/\/account\/sign-in\?.*next=/);
  } catch (error) {
    faults.push(`${where}, at ${page.url()}: ${String(error).split("\n")[0]}`);
  }
  await context.close();
}

/// Buys credits by a click that moves no money, and looks at the purchase and its receipt.
async function buy(page, where, javaScriptEnabled, name) {
  await page.goto(`${url}/account/credits`);
  await page.click("main form.form button");
  await page.waitForURL(/\/account\/purchases\/chk_/);
  await page.locator("main form.form button").nth(1).click();
  await page.waitForURL(/\/account\/purchases\/chk_.*done=given-up/);
  if (javaScriptEnabled) await lookWithAxe(page, `${where}, cancelled purchase`);
  await page.goto(`${url}/account/credits`);
  await page.locator('main fieldset input[type="radio"]').nth(1).check();
  const credits = await page.locator('main fieldset input[type="radio"]').nth(1).inputValue();
  await page.click("main form.form button");
  await page.waitForURL(/\/account\/purchases\/chk_/);
  if (javaScriptEnabled) await lookWithAxe(page, `${where}, purchase`);
  await page.click("main form.form button");
  await page.waitForURL(/\/account\/purchases\/chk_.*done=paying/);
  await page.click('main a[href*="/receipt"]');
  await page.waitForURL(/\/receipt/);
  await lookAtWidth(page, `${where}, receipt`);
  if (javaScriptEnabled) await lookWithAxe(page, `${where}, receipt`);
  if (folder !== undefined) await page.screenshot({ path: path.join(folder, `receipt-${name}.png`), fullPage: true });
  await page.emulateMedia({ media: "print" });
  if (await page.isVisible("header.top")) faults.push(`${where}: the printed receipt has the header of the site`);
  await page.emulateMedia({ media: null });
  await page.goto(`${url}/account`);
  const balance = (await page.textContent("p.balance")).replace(/\D/g, "");
  if (balance !== credits) faults.push(`${where}: ${credits} credits were bought, the balance is ${balance}`);
  await page.goto(`${url}/account/credits`);
  if (javaScriptEnabled) await lookWithAxe(page, `${where}, purchases`);
  if (folder !== undefined) await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
}

/// Signs the operator in.
async function signIn(page) {
  await page.goto(`${adminUrl}/operator/accounts`);
  await page.waitForURL(/\/operator\/sign-in\?.*next=/);
  await page.fill('main input[name="token"]', adminToken);
  await page.click("main form.form button");
  await page.waitForURL(/\/operator\/accounts$/);
}

/// Visits each page of the operator in one dress.
async function lookAtOperator(screen, viewport, colorScheme, locale) {
  const dress = `${screen}, ${colorScheme}, ${locale}`;
  const context = await browser.newContext({ viewport, colorScheme, locale });
  const page = await openPage(context, `operator, ${dress}`, 200, adminUrl);
  page.setDefaultTimeout(10_000);
  try {
    await page.goto(`${adminUrl}/operator/sign-in`);
    await lookWithAxe(page, `operator's sign-in, ${dress}`);
    await signIn(page);
    for (const at of OPERATOR) {
      const where = `${at}, ${dress}`;
      const answer = await page.goto(adminUrl + at, { waitUntil: "load" });
      if (answer.status() !== 200) faults.push(`${where}: status ${answer.status()}`);
      const lang = await page.getAttribute("html", "lang");
      if (lang !== locale.slice(0, 2)) faults.push(`${where}: lang ${lang}`);
      await lookAtWidth(page, where);
      await lookWithAxe(page, where);
      if (folder !== undefined) {
        const name = `${at.slice(1).replaceAll(/[/?=]/g, "-")}-${screen}-${colorScheme}-${locale.slice(0, 2)}.png`;
        await page.screenshot({ path: path.join(folder, name), fullPage: true });
      }
    }
  } catch (error) {
    faults.push(`operator, ${dress}, at ${page.url()}: ${String(error).split("\n")[0]}`);
  }
  await context.close();
}

/// The operator creates an account, grants credits, makes a key, revokes it, and closes the account.
async function operate(javaScriptEnabled, locale) {
  const where = `operator, ${javaScriptEnabled ? "with" : "without"} JavaScript, ${locale}`;
  const context = await browser.newContext({ viewport: SCREENS.wide, locale, javaScriptEnabled });
  // A form that is refused answers 422.
  const page = await openPage(context, where, 422, adminUrl);
  page.setDefaultTimeout(10_000);
  const form = (action) => `main form:has(input[name="action"][value="${action}"])`;
  const send = (action) => page.click(`${form(action)} button`);
  try {
    await signIn(page);
    await page.fill(`${form("create")} input[name="name"]`, `Customer ${locale}`);
    await send("create");
    await page.waitForURL(/\/operator\/accounts\/acc_\d+\?.*done=created/);
    const account = new URL(page.url()).pathname;
    await page.fill(`${form("grant")} input[name="credits"]`, "0");
    await send("grant");
    await page.waitForSelector(`${form("grant")} p.problem`);
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, refused form`);
    await page.fill(`${form("grant")} input[name="credits"]`, "500");
    await send("grant");
    await page.waitForURL(/done=granted/);
    await page.fill(`${form("key")} input[name="label"]`, "a program");
    await send("key");
    const key = (await page.textContent("pre#secret")).trim();
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, new key`);
    const ask = () => fetch(`${url}/api/v1/account`, { headers: { "X-Api-Key": key } });
    const told = await (await ask()).json();
    if (told.data?.credits !== 500) faults.push(`${where}: the key sees ${JSON.stringify(told)}`);
    await page.goto(adminUrl + account);
    await page.click("main tbody a[aria-label]");
    await page.waitForURL(/\/operator\/keys\//);
    await page.check(`${form("revoke")} input[name="confirm"]`);
    await send("revoke");
    await page.waitForURL(/done=revoked/);
    if ((await ask()).status !== 401) faults.push(`${where}: the revoked key is taken`);
    await page.goto(adminUrl + account);
    await page.check(`${form("close")} input[name="confirm"]`);
    await send("close");
    await page.waitForURL(/done=closed/);
    if (javaScriptEnabled) await lookWithAxe(page, `${where}, closed account`);
    await page.click("main .account-bar button");
    await page.waitForURL(/\/operator\/sign-in\?.*done=signed-out/);
    await page.goto(`${adminUrl}/operator`);
    await page.waitForURL(/\/operator\/sign-in\?.*next=/);
  } catch (error) {
    faults.push(`${where}, at ${page.url()}: ${String(error).split("\n")[0]}`);
  }
  await context.close();
}
