// Puts it together: asks each second, shows the answer, and says so when there is none. Old numbers are never shown as
// if they were new ones: they are greyed out, with the time they are of.

import { age, clock, number } from "./format.js";
import { Gaps, History, activitiesKnown, concerns, list, ordered, focus, sum } from "./model.js";
import { Failures, Queues, Rates, Replicas, Servers } from "./tables.js";
import { attribute, byId, el, hide, keyed, text } from "./dom.js";
import { Activity } from "./activity.js";
import { Chart } from "./chart.js";
import { Loop, Trouble, ask } from "./poll.js";
import { Tiles } from "./tiles.js";

const OLD_MS = 4000; // an answer, or a survey that stands still
const HISTORY_EVERY_MS = 60000;
const CONCERNS_MAX = 8; // lines

const state = {
    doc: null, // the last answer
    heard: 0, // when it came, by this machine's clock
    moved: 0, // when its survey was last a newer one
    trouble: null, // what the last question came to, if to no answer
    since: Date.now(), // since when there is none
};
const history = new History();
const gaps = new Gaps();

const tiles = new Tiles(byId("tiles"));
const parts = [
    new Rates(byId("rates")), new Queues(byId("queues")), new Servers(byId("dependencies")),
    new Failures(byId("failures")), new Replicas(byId("replicas")),
];
const orders = new Chart(byId("orders"), "Orders created per second", [
    { name: "created", className: "orders", of: (p) => p.created, filled: true, rate: true },
]);
const backlog = new Chart(byId("backlog"), "Messages that wait", [
    { name: "waiting", className: "held", of: (p) => p.backlog, filled: true },
]);
const others = el("p", "none");
others.hidden = true;
byId("activities").after(others);

// ---- how fresh it is ----

const oldAfter = () => Math.max(OLD_MS, 4 * (state.doc?.interval_ms ?? 0));
const fresh = (now) => state.doc !== null && state.trouble === null && now - state.heard < oldAfter() && now - state.moved < oldAfter() + 1000;

// The daemon's clock now: of the answer, and on from there.
const theirs = (now) => state.doc.at + Math.max(0, now - state.moved);

function trouble(now) {
    if (state.trouble?.unready) return `This replica has no numbers yet: ${state.trouble.message}.`;
    const since = state.doc ? Math.max(state.heard, 0) : state.since;
    const why = state.trouble?.message ?? (now - state.heard < oldAfter() ? "it answers, but its numbers stand still" : "nothing was asked meanwhile");
    return `No news from this orderd since ${clock(since, now)} (${age(now - since)}): ${why}.`;
}

function showFreshness(now) {
    const good = fresh(now);
    const asking = !good && !state.doc && !state.trouble;
    const old = state.doc ? ` What is below is as it was at ${clock(state.doc.at, now)}.` : "";
    attribute(document.body, "data-state", good ? "live" : asking ? "waiting" : "stale");
    attribute(byId("numbers"), "class", good ? "" : "old");
    attribute(byId("concerns"), "class", good ? "concerns" : "concerns old");
    text(byId("pulse-text"), good ? `live, ${clock(theirs(now), now)}` : asking ? "asks" : `no news since ${clock(state.doc ? state.heard : state.since, now)}`);
    hide(byId("notice"), good || asking);
    text(byId("notice"), good || asking ? "" : trouble(now) + old);
    return good;
}

// ---- showing ----

// What is said below the activities; "" where they are all.
function beside(count, leftOut) {
    if (leftOut > 0) return `${number(leftOut)} more are not shown: orderctl activity list`;
    if (count > 0) return "";
    return activitiesKnown(state.doc) ? "There is none: orderctl activity create --help" : "Not known: MySQL has not been read.";
}

function showActivities(now) {
    const all = ordered(state.doc.activities);
    keyed(byId("activities"), all, (a) => a.id, (a) => new Activity(a),
        (shown, a) => shown.show(a, theirs(now), gaps.of(a, now), history));
    text(others, beside(all.length, state.doc.activities_left_out));
    hide(others, others.textContent === "");
}

function shortened(all) {
    const more = all.length - CONCERNS_MAX + 1;
    if (more <= 1) return all;
    return [...all.slice(0, -more), { key: "more", level: "warn", words: `And ${number(more)} more, see below` }];
}

function showConcerns(now) {
    const all = concerns(state.doc, gaps, now);
    keyed(byId("concerns"), shortened(all), (c) => c.key, () => ({ root: el("li", "") }), (item, c) => {
        text(item.root, c.words);
        attribute(item.root, "data-level", c.level);
    });
    return all.some((c) => c.level === "bad");
}

function showTitle(good, alarm) {
    const all = focus(state.doc?.activities);
    const left = all.length > 0 ? `${number(sum(all, (a) => a.left))} left` : "no activity";
    const said = good ? `${alarm ? "\u26a0 " : ""}${left}` : state.doc ? "\u26a0 no news" : "no numbers yet";
    if (document.title !== `${said} \u00b7 orderd`) document.title = `${said} \u00b7 orderd`;
}

function showAll(now) {
    const view = { window: history.window(), points: history.points(), longest: 4 * history.step, top: null };
    tiles.show(state.doc, theirs(now));
    for (const part of parts) part.show(state.doc, theirs(now));
    orders.show(view);
    backlog.show(view);
    showActivities(now);
    attribute(document.body, "data-at", String(state.doc.at)); // which survey it is, for who drives a browser
    const replicas = list(state.doc.replicas).length;
    text(byId("source"), `as seen by replica ${state.doc.instance || "without a name"}${replicas > 0 ? `, about all ${number(replicas)}` : ""}`);
}

function show() {
    const now = Date.now();
    const good = showFreshness(now);
    try {
        if (good) showAll(now);
        showTitle(good, good && showConcerns(now));
    } catch (e) { // half of it is old then
        state.trouble = new Trouble(`the page cannot show the answer: ${e.message}`, false);
        showFreshness(now);
        throw e;
    }
}

// ---- asking ----

function take(doc) {
    const now = Date.now();
    if (doc?.v === 1 && !doc.at) throw new Trouble("it has not read anything of the sale", true);
    if (doc?.v !== 1) throw new Trouble("its answer is not of a kind that this page knows: load it again", false);
    if (state.doc?.at !== doc.at) state.moved = now;
    state.doc = doc;
    state.heard = now;
    state.trouble = null;
    gaps.look(doc.activities, now);
    history.add(doc);
}

async function askSale() {
    try {
        take(await ask("sale"));
    } catch (e) {
        if (!(e instanceof Trouble)) throw e;
        state.trouble = e;
    }
    show();
    return state.trouble === null;
}

async function askHistory() {
    try {
        history.load(await ask("sale/history"));
    } catch (e) {
        if (!(e instanceof Trouble)) throw e;
        return false; // the curves begin with what this page has seen
    }
    if (state.doc) show();
    return true;
}

const sale = new Loop(askSale, 1000);
const past = new Loop(askHistory, HISTORY_EVERY_MS);
past.wake();
sale.wake();

// A page in the background is woken rarely, and a sleeping machine not at all: what it then shows first is how old it is.
setInterval(show, 1000);
function comeBack() {
    if (document.hidden) return;
    show();
    sale.wake();
    past.wake();
}
document.addEventListener("visibilitychange", comeBack);
document.addEventListener("resume", comeBack);
