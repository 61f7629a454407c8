// What the document means: sums over activities, and what needs somebody. No nodes here.

import { age, count, known, word } from "./format.js";

// A gap that is gone at the next look was two servers read a moment apart.
const GAP_IS_REAL_MS = 5000;

export const list = (value) => (Array.isArray(value) ? value : []);

// No activities because there are none, not because they could not be read.
export function activitiesKnown(doc) {
    const mysql = list(doc.dependencies).find((d) => d.name === "mysql");
    return list(doc.activities).length > 0 || (Array.isArray(doc.activities) && mysql?.up === true);
}

const FLEET_OLD_MS = 10000;

// How old the list of replicas is, where it is not of now: it comes from MySQL. Infinity: there was none; 0: of now. One
// without anybody is not known either, since somebody has answered.
export function fleetAge(doc) {
    if (list(doc.replicas).length === 0) return Infinity;
    const ms = known(doc.replicas_at) ? doc.at - doc.replicas_at : 0;
    return ms > FLEET_OLD_MS ? ms : 0;
}

const rank = { running: 0, ended: 1, scheduled: 2, review: 3, settled: 4 };

// What is on sale first; then by time and number.
export function ordered(activities) {
    const of = (a) => rank[a.state] ?? 5;
    return list(activities).toSorted(
        (a, b) => of(a) - of(b) || (a.starts_at ?? 0) - (b.starts_at ?? 0) || String(a.id).localeCompare(String(b.id), "en", { numeric: true }),
    );
}

// Those that the tiles are about: what is on sale, else what was, else what will be.
export function focus(activities) {
    const all = ordered(activities);
    return all.filter((a) => a.state === all[0].state);
}

// The sum of a member; null where one of them does not know it.
export function sum(items, of) {
    let total = 0;
    for (const item of items) {
        const n = of(item);
        if (!known(n)) return null;
        total += n;
    }
    return total;
}

// Units that the books disagree about; null: not known. What is in flight is none of them.
export function gap(activity) {
    const c = activity.conservation ?? {};
    if (known(c.drift)) return Math.abs(c.drift);
    const worst = Math.max(0, ...[c.redis_off, c.mysql_off].filter(known).map(Math.abs));
    return worst > 0 ? worst : null;
}

// The drift over all activities: those that are known count, and how many are not.
export function drift(activities) {
    const gaps = list(activities).map(gap);
    const units = gaps.reduce((all, g) => all + (g ?? 0), 0);
    return { units, unknown: gaps.filter((g) => g === null).length, of: gaps.length };
}

// Remembers since when each activity has a gap.
export class Gaps {
    #since = new Map();

    look(activities, now) {
        const since = new Map();
        for (const a of list(activities)) if (gap(a) > 0) since.set(a.id, this.#since.get(a.id) ?? now);
        this.#since = since;
    }

    // null: none. real: it lasts.
    of(activity, now) {
        const since = this.#since.get(activity.id);
        if (since === undefined) return null;
        return { units: gap(activity), ms: now - since, real: now - since >= GAP_IS_REAL_MS };
    }
}

// ---- what needs somebody, worst first ----

// key: which it is, whatever numbers its words have now.
const bad = (key, words) => ({ level: "bad", key, words });
const warn = (key, words) => ({ level: "warn", key, words });
const because = (why) => (why ? `: ${why}` : "");

function ofServers(doc) {
    return list(doc.dependencies)
        .filter((d) => d.up === false)
        .map((d) => bad(`server ${d.name}`, `${d.name} is down${because(d.why)}`));
}

function ofReplicas(doc) {
    const all = fleetAge(doc) === 0 ? list(doc.replicas) : [];
    const ready = all.filter((r) => r.state === "ready");
    const not = all.filter((r) => r.state === "lost" || r.state === "not_ready");
    const level = ready.length === 0 ? bad : warn;
    const found = not.map((r) => level(`replica ${r.instance} ${r.host} ${r.pid}`,
        `Replica ${r.instance || "without a name"} is ${word(r.state)}${because(r.why)}`));
    if (all.length > 0 && ready.length === 0 && not.length === 0) found.push(bad("replicas", "No replica takes orders"));
    return found;
}

function ofShards(a) {
    const s = a.shards ?? {};
    const found = [];
    for (const state of ["missing", "damaged"])
        if (s[state] > 0) found.push(bad(`${state} ${a.id}`, `Activity ${a.id}: ${count(s[state], "shard is", "shards are")} ${state} in Redis: orderctl activity show ${a.id}`));
    if (s.paused > 0 && a.state === "running") found.push(warn(`paused ${a.id}`, `Activity ${a.id}: ${count(s.paused, "shard is", "shards are")} paused`));
    return found;
}

function ofActivity(a, gaps, now) {
    const found = ofShards(a);
    const g = gaps.of(a, now);
    if (g?.real) found.push(bad(`gap ${a.id}`, `Activity ${a.id}: the books are ${count(g.units, "unit")} apart, for ${age(g.ms)}: orderctl reconcile --activity ${a.id}`));
    if (a.reconcile?.verdict === "broken") found.push(bad(`reconcile ${a.id}`, `Activity ${a.id}: the last reconciliation found a gap that nothing explains`));
    if (a.overdue > 0) found.push(warn(`overdue ${a.id}`, `Activity ${a.id}: ${count(a.overdue, "order")} should have been closed by now`));
    return found;
}

// The other queues are to be read by nobody: delays, and dead letters.
const work = /\.(create(\.\d+)?|paid|cancel|unpaid)$/;

function ofMessages(doc) {
    const found = [];
    for (const q of list(doc.queues))
        if (work.test(q.name) && q.ready > 0 && q.consumers === 0)
            found.push(bad(`queue ${q.name}`, `Nobody consumes ${q.name}, where ${count(q.ready, "message waits", "messages wait")}`));
    if (doc.relay?.quarantined > 0)
        found.push(warn("quarantined", `${count(doc.relay.quarantined, "local message is", "local messages are")} quarantined: orderctl outbox list --state quarantined`));
    return found;
}

export function concerns(doc, gaps, now) {
    const found = [
        ...ofServers(doc),
        ...ofReplicas(doc),
        ...list(doc.activities).flatMap((a) => ofActivity(a, gaps, now)),
        ...ofMessages(doc),
    ];
    return found.toSorted((a, b) => (a.level === "bad" ? 0 : 1) - (b.level === "bad" ? 0 : 1));
}

// ---- the last quarter of an hour ----

const KEPT_MS = 15 * 60 * 1000;

// A point as the daemon makes it; its sold are the units in live orders, paid or not.
const pointOf = (doc) => ({
    at: doc.at,
    created: doc.rates?.created ?? null,
    backlog: doc.backlog?.messages ?? null,
    activities: list(doc.activities).map((a) => ({ id: a.id, left: a.left, sold: a.conservation?.mysql_live ?? null })),
});

const FINE_MS = 2 * 60 * 1000; // for so long each second is kept

// Points as the daemon remembers them, every step ms, and those that this page has seen itself, every second at first.
export class History {
    step = 5000;
    #points = [];

    load(answer) {
        if (answer.step_ms > 0) this.step = answer.step_ms;
        this.#points = [...this.#points, ...list(answer.points).filter((p) => known(p.at))].toSorted((a, b) => a.at - b.at);
        this.#thin();
    }

    add(doc) {
        if (doc.at <= (this.#points.at(-1)?.at ?? 0)) return;
        this.#points.push(pointOf(doc));
        this.#thin();
    }

    // The newest one stays, whatever came shortly before it.
    #thin() {
        const newest = this.#points.at(-1);
        let last = -Infinity;
        this.#points = this.#points.filter((p) => {
            const apart = newest.at - p.at > FINE_MS ? this.step * 0.9 : 900;
            if (p !== newest && (p.at - last < apart || p.at <= newest.at - KEPT_MS)) return false;
            last = p.at;
            return true;
        });
    }

    points() {
        return this.#points;
    }

    // [from, to]: as much as there is, at least two minutes, at most all that is kept.
    window() {
        const points = this.points();
        const to = points.at(-1)?.at ?? Date.now();
        const span = to - (points[0]?.at ?? to);
        return [to - Math.min(KEPT_MS, Math.max(2 * 60 * 1000, span)), to];
    }
}

