// One activity: how it stands, its curve, and the line that must add up.

import { age, between, count, countdown, duration, known, minute, number, percent, rate, word } from "./format.js";
import { attribute, el, hide, text } from "./dom.js";
import { Chart } from "./chart.js";
import { gap } from "./model.js";

const OPEN_AT_FIRST = 4; // of those on sale; the others show their summary
const CURVE_HEIGHT = 226;
let opened = 0;

// ---- the facts beside the curve: name, text, level ----

const facts = [
    ["Window", (a, now) => `${minute(a.starts_at, now)} to ${minute(a.ends_at, now)}`],
    ["Sells", (a) => `${rate(a.rate)} ${a.rate === 1 ? "unit" : "units"} per second`],
    ["Sold out in", (a) => (a.left === 0 ? "sold out" : duration(known(a.sold_out_s) ? a.sold_out_s * 1000 : null))],
    ["Held, not paid", (a) => number(a.held_unpaid)],
    ["Due within 5 min", (a) => number(a.due_soon)],
    ["Overdue", (a) => number(a.overdue), (a) => (a.overdue > 0 ? "warn" : "")],
    ["Paid", (a) => number(a.paid)],
    ["Closed, given back", (a) => number(a.closed)],
    ["Shards in Redis", (a) => shards(a.shards ?? {}), (a) => (a.shards?.missing > 0 || a.shards?.damaged > 0 ? "bad" : "")],
    ["Reconciled", (a, now) => reconciled(a.reconcile ?? {}, now), (a) => (a.reconcile?.verdict === "broken" ? "bad" : "")],
];

function shards(s) {
    const troubles = ["missing", "damaged", "paused"].filter((name) => s[name] > 0).map((name) => `${number(s[name])} ${name}`);
    return troubles.length > 0 ? `${number(s.count)}: ${troubles.join(", ")}` : number(s.count);
}

function reconciled(r, now) {
    if (!known(r.at)) return null;
    return `${r.verdict ?? "not finished"}, ${age(now - r.at)} ago`;
}

function factList(host) {
    return facts.map(([name, of, level]) => {
        const value = el("dd", "n");
        host.append(el("div", "", el("dt", "", name), value));
        return { value, of, level };
    });
}

// ---- total = left + held + sold, with what was taken off sale, since MySQL never had it ----

const parts = [
    ["left", "left", (c) => c.left],
    ["held", "held", (c) => c.held],
    ["sold", "sold", (c) => c.sold],
];

class Line {
    constructor() {
        this.bar = el("div", "bar");
        this.bar.setAttribute("role", "img");
        this.segments = parts.map(([, className]) => el("span", className));
        this.rest = el("span", "rest");
        this.bar.append(...this.segments, this.rest);
        this.total = el("b", "n");
        this.values = parts.map(() => el("b", "n"));
        this.terms = parts.map(([name, className], i) => el("span", "", el("i", `swatch ${className}`), this.values[i], ` ${name}`));
        this.aside = el("span", "aside muted");
        this.lost = el("span", "odd");
        this.redis = el("p", "sum", el("span", "", this.total, " in all"), el("span", "op", "="));
        this.terms.forEach((term, i) => this.redis.append(...(i ? [el("span", "op", "+")] : []), term));
        this.redis.append(this.aside, this.lost);
        this.flight = el("p", "sum muted");
        this.mysql = el("span", "muted");
        this.mysqlLost = el("span", "odd");
        this.verdict = el("p", "verdict");
        this.root = el("div", "conservation", el("div", "judged", this.bar, this.verdict), this.redis, this.flight,
            el("p", "sum", this.mysql, this.mysqlLost));
    }

    show(a, found) {
        const c = a.conservation ?? {};
        const values = parts.map(([, , of]) => of(c));
        const rest = values.every(known) ? a.total - values.reduce((x, y) => x + y, 0) : null;
        this.#bar(a, values, rest);
        text(this.total, number(a.total));
        values.forEach((v, i) => text(this.values[i], number(v)));
        text(this.aside, signed(c.gone, "off sale"));
        text(this.lost, signed(c.redis_off, "that nobody has"));
        text(this.flight, `in flight, held without a row yet: ${number(c.in_flight)}`);
        text(this.mysql, `MySQL: ${number(c.mysql_available)} available + ${number(c.mysql_live)} in live orders`);
        text(this.mysqlLost, signed(c.mysql_off, "that nobody has"));
        this.#judge(a, found);
    }

    #bar(a, values, rest) {
        this.segments.forEach((s, i) => (s.style.flexGrow = Math.max(0, values[i] ?? 0)));
        this.rest.style.flexGrow = values.every(known) ? Math.max(0, rest) : 1;
        attribute(this.bar, "aria-label", parts.map(([name], i) => `${name} ${number(values[i])}`).join(", "));
    }

    #judge(a, found) {
        const level = found ? (found.real ? "bad" : "warn") : gap(a) === 0 ? "good" : "";
        const said = found ? `${count(found.units, "unit")} apart for ${age(found.ms)}` : gap(a) === 0 ? "adds up, drift 0" : "not known whether it adds up";
        text(this.verdict, said);
        attribute(this.verdict, "data-level", level);
    }
}

// "+ 3 off sale", "− 2 ..."; nothing where it is 0 or not known.
function signed(n, words) {
    return known(n) && n !== 0 ? `${n > 0 ? "+" : "\u2212"} ${number(Math.abs(n))} ${words}` : "";
}

// ---- the whole ----

export class Activity {
    constructor(activity) {
        this.title = el("bdi", "title");
        this.state = el("span", "pill");
        this.when = el("span", "when muted n");
        this.left = el("b", "n");
        this.share = el("span", "muted n");
        this.alarm = el("span", "pill");
        const head = el("summary", "", this.title, el("span", "muted n", `#${activity.id}`), this.state, this.when, this.alarm,
            el("span", "stock", this.left, this.share));
        const list = el("dl", "facts");
        this.facts = factList(list);
        this.plot = el("div", "plot");
        this.line = new Line();
        this.root = el("details", "card activity", head, el("div", "inside", this.plot, list), this.line.root);
        this.root.open = activity.state === "running" && opened++ < OPEN_AT_FIRST;
        const of = (name) => (p) => p.activities?.find((x) => x.id === activity.id)?.[name];
        this.chart = new Chart(this.plot, `Stock of activity ${activity.id}`, [
            { name: "left", className: "left", of: of("left"), filled: true },
            { name: "in orders", className: "orders", of: of("sold") },
        ], CURVE_HEIGHT);
        this.root.addEventListener("toggle", () => this.#plot());
    }

    show(a, now, found, history) {
        text(this.title, a.title ?? "");
        attribute(this.title, "title", String(a.title ?? ""));
        text(this.state, word(a.state));
        attribute(this.state, "data-level", a.state === "running" ? "good" : "");
        text(this.when, when(a, now));
        text(this.left, number(a.left));
        text(this.share, ` of ${number(a.total)} left${known(a.left) ? `, ${percent(a.left, a.total)}` : ""}`);
        hide(this.alarm, !found);
        text(this.alarm, found ? `${count(found.units, "unit")} apart` : "");
        attribute(this.alarm, "data-level", found?.real ? "bad" : "warn");
        for (const f of this.facts) {
            text(f.value, f.of(a, now));
            attribute(f.value, "data-level", f.level?.(a) ?? "");
        }
        this.line.show(a, found);
        this.view = { window: history.window(), points: history.points(), longest: 4 * history.step, top: a.total > 0 ? a.total : null };
        this.#plot();
    }

    #plot() {
        if (this.root.open && this.view) this.chart.show(this.view);
    }
}

function when(a, now) {
    if (a.state === "scheduled") return `begins in ${countdown(between(now, a.starts_at))}`;
    if (a.state === "running") return `ends in ${countdown(between(now, a.ends_at))}`;
    return "";
}
