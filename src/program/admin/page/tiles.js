// The row of numbers at the top: what somebody at a sale looks at first.

import { NONE, age, between, countdown, duration, known, latency, number, percent, rate, word } from "./format.js";
import { attribute, el, text } from "./dom.js";
import { activitiesKnown, drift, fleetAge, focus, list, sum } from "./model.js";

// Each answers [value, what is said below, level]. now: by the daemon's clock.
const tiles = [
    ["Sale", (doc, now) => phase(doc, now)],
    ["Stock left", (doc) => stock(focus(doc.activities))],
    ["Orders per second", (doc) => [rate(doc.rates?.created), `${rate(doc.rates?.received)} received`]],
    ["Sold out in", (doc) => soldOut(focus(doc.activities))],
    ["Publish to commit, p99", (doc) => [latency(doc.latency?.p99_us), `p50 ${latency(doc.latency?.p50_us)}`, known(doc.latency?.p99_us) && doc.latency.p99_us > 1e6 ? "warn" : ""]],
    ["Backlog", (doc) => backlog(doc.backlog ?? {})],
    ["Failures per second", (doc) => failures(doc.rates ?? {})],
    ["Dead letters", (doc) => letters(doc.dead_letters ?? {})],
    ["Drift", (doc) => apart(doc)],
    ["Replicas", replicas],
];

function phase(doc, now) {
    const all = focus(doc.activities);
    if (!activitiesKnown(doc)) return [NONE, "not known"];
    if (all.length === 0) return ["none", "there is no activity"];
    const state = all[0].state;
    const said = all.length === 1 ? word(state) : `${number(all.length)} ${word(state)}`;
    const first = (of) => Math.min(...all.map(of).filter(known));
    if (state === "running") return [said, `ends in ${countdown(between(now, first((a) => a.ends_at)))}`, "good"];
    if (state === "scheduled") return [said, `begins in ${countdown(between(now, first((a) => a.starts_at)))}`];
    if (state === "ended") return [said, `for ${age(between(Math.max(...all.map((a) => a.ends_at).filter(known)), now))}`];
    return [said, ""];
}

function stock(all) {
    const left = sum(all, (a) => a.left);
    const total = sum(all, (a) => a.total);
    if (all.length === 0) return [NONE, ""];
    const low = known(left) && left > 0 && left < total / 10;
    return [number(left), known(left) ? `${percent(left, total)} of ${number(total)}` : `not known, of ${number(total)}`, low ? "warn" : ""];
}

function soldOut(all) {
    const left = sum(all, (a) => a.left);
    if (all.length > 0 && left === 0) return ["sold out", "what comes back is sold again"];
    const soon = all.map((a) => a.sold_out_s).filter(known);
    const units = sum(all, (a) => a.rate);
    const said = units === 0 ? "nothing is being sold" : `at ${rate(units)} ${units === 1 ? "unit" : "units"} per second`;
    return [soon.length > 0 ? duration(Math.min(...soon) * 1000) : NONE, known(units) && all.length > 0 ? said : ""];
}

function backlog(b) {
    if (b.messages === 0) return ["0", "nothing waits"];
    const drained = known(b.drain_s) ? `drained in ${duration(b.drain_s * 1000)}` : "time to drain not known";
    return [number(b.messages), known(b.messages) ? drained : "", known(b.drain_s) && b.drain_s > 60 ? "warn" : ""];
}

function failures(r) {
    const failed = known(r.dead_lettered) && known(r.rejected) ? r.dead_lettered + r.rejected : null;
    return [rate(failed), `${rate(r.dead_lettered)} dead-lettered, ${rate(r.rejected)} rejected`, failed > 0 ? "warn" : ""];
}

function letters(d) {
    return [number(d.open), `open; ${number(d.queue)} still in the queue`, d.open > 0 || d.queue > 0 ? "warn" : ""];
}

function apart(doc) {
    const d = drift(doc.activities);
    if (!activitiesKnown(doc)) return [NONE, "not known"];
    if (d.units > 0) return [number(d.units), `${d.units === 1 ? "unit" : "units"} apart: must be 0`, "bad"];
    if (d.unknown > 0) return [NONE, `not known for ${number(d.unknown)} of ${number(d.of)}`];
    return ["0", d.of > 0 ? "the books agree" : "", "good"];
}

function replicas(doc) {
    const all = list(doc.replicas);
    const ms = fleetAge(doc);
    const ready = all.filter((r) => r.state === "ready").length;
    const others = new Map();
    for (const r of all) if (r.state !== "ready") others.set(r.state, (others.get(r.state) ?? 0) + 1);
    if (ms > 0) return [NONE, known(ms) ? `not known; ${number(ready)} of ${number(all.length)} were ready ${age(ms)} ago` : "not known"];
    const said = [...others].map(([state, n]) => `${number(n)} ${word(state)}`).join(", ");
    const level = ready === all.length && ready > 0 ? "good" : ready > 0 ? "warn" : "bad";
    return [`${number(ready)}\u2009/\u2009${number(all.length)}`, said || (ready === 1 ? "ready" : "all ready"), level];
}

export class Tiles {
    constructor(host) {
        this.all = tiles.map(([name, of]) => {
            const value = el("dd", "value", NONE);
            const more = el("dd", "more", "");
            const root = el("div", "tile", el("dt", "", name), value, more);
            host.append(root);
            return { root, value, more, of };
        });
    }

    show(doc, now) {
        for (const tile of this.all) {
            const [value, more, level] = tile.of(doc, now);
            text(tile.value, value);
            text(tile.more, more);
            attribute(tile.root, "data-level", level ?? "");
        }
    }
}
