// The lists below the curves.

import { NONE, age, between, clock, duration, known, number, rate, word } from "./format.js";
import { attribute, el, keyed, row, table, text } from "./dom.js";
import { fleetAge, list } from "./model.js";

// Pairs of a name and a number, made of a table of [name, text of the document, level].
class Pairs {
    constructor(host, rows) {
        const root = el("dl", "facts");
        this.rows = rows.map(([name, of, level]) => {
            const value = el("dd", "n", NONE);
            root.append(el("div", "", el("dt", "", name), value));
            return { value, of, level };
        });
        host.append(root);
    }

    show(doc) {
        for (const r of this.rows) {
            text(r.value, r.of(doc));
            attribute(r.value, "data-level", r.level?.(doc) ?? "");
        }
    }
}

export class Rates extends Pairs {
    constructor(host) {
        const of = (name) => (doc) => rate(doc.rates?.[name]);
        const failed = (name) => (doc) => (doc.rates?.[name] > 0 ? "warn" : "");
        super(host, [
            ["received", of("received")],
            ["created", of("created")],
            ["duplicate", of("duplicate")],
            ["paid", of("paid")],
            ["closed", of("closed")],
            ["units given back", of("units_returned")],
            ["tried again", of("retried"), failed("retried")],
            ["rejected", of("rejected"), failed("rejected")],
            ["dead-lettered", of("dead_lettered"), failed("dead_lettered")],
        ]);
    }
}

export class Queues {
    constructor(host) {
        this.table = table(host, [["queue"], ["ready", "n"], ["consumers", "n"]], "The queues are not known.");
        this.relay = new Pairs(host, [
            ["local messages to send", (doc) => number(doc.relay?.pending)],
            ["the oldest is due for", (doc) => (doc.relay?.pending === 0 ? NONE : duration(doc.relay?.oldest_ms)), (doc) => (doc.relay?.oldest_ms > 10000 ? "warn" : "")],
            ["quarantined", (doc) => number(doc.relay?.quarantined), (doc) => (doc.relay?.quarantined > 0 ? "warn" : "")],
        ]);
    }

    show(doc) {
        this.table.show(list(doc.queues), (q) => q.name, () => row(["", "n", "n"]), (r, q) => {
            text(r.cells[0], q.name);
            text(r.cells[1], number(q.ready));
            text(r.cells[2], number(q.consumers));
        });
        this.relay.show(doc);
    }
}

export class Servers {
    constructor(host) {
        this.root = el("ul", "servers");
        host.append(this.root);
    }

    show(doc) {
        keyed(this.root, list(doc.dependencies), (d) => d.name, makeServer, (s, d) => {
            const level = d.up === true ? "good" : d.up === false ? "bad" : "";
            text(s.name, d.name);
            text(s.state, d.up === true ? "up" : d.up === false ? "down" : "not known");
            attribute(s.state, "data-level", level);
            text(s.why, d.why ?? "");
        });
    }
}

function makeServer() {
    const [name, state, why] = [el("b", ""), el("span", "pill"), el("span", "why muted")];
    return { root: el("li", "", name, state, why), name, state, why };
}

// ---- dead letters, each with its command ----

// The clipboard is for pages of https and of loopback only; elsewhere the text is selected, to be copied by hand.
async function copy(code, button) {
    let said = "Copied";
    try {
        await navigator.clipboard.writeText(code.textContent);
    } catch {
        getSelection().selectAllChildren(code);
        said = "Selected";
    }
    text(button, said);
    setTimeout(() => text(button, "Copy"), 1500);
}

function makeFailure() {
    const r = row(["", "n", "command"]);
    const code = el("code", "");
    const button = el("button", "", "Copy");
    button.type = "button";
    button.addEventListener("click", () => copy(code, button));
    r.cells[2].append(code, button);
    return { ...r, code, button };
}

export class Failures {
    constructor(host) {
        this.table = table(host, [["reason"], ["open", "n"], ["what lists them"]], "");
        this.none = host.querySelector(".none");
    }

    show(doc) {
        const d = doc.dead_letters ?? {};
        text(this.none, d.open === 0 ? "None is open." : "Not known.");
        this.table.show(list(d.by_reason), (f) => f.reason, makeFailure, (r, f) => {
            text(r.cells[0], f.reason);
            text(r.cells[1], number(f.open));
            text(r.code, f.command);
            attribute(r.button, "aria-label", `Copy the command for ${f.reason ?? NONE}`);
        });
    }
}

// ---- replicas ----

const levels = { ready: "good", lost: "bad", not_ready: "bad", draining: "warn", quiet: "warn" };

export class Replicas {
    constructor(host) {
        this.table = table(host, [["replica"], ["state"], ["host"], ["process", "n"], ["version"], ["up", "n"], ["seen", "n"], ["admin"], ["why"]],
            "Not known: MySQL has not been read.");
        this.host = host;
    }

    show(doc, now) {
        attribute(this.host, "class", fleetAge(doc) === 0 ? "card" : "card old");
        const key = (r) => `${r.instance}\n${r.host}\n${r.pid}`;
        this.table.show(list(doc.replicas), key, makeReplica, (row_, r) => {
            const lost = r.state === "lost";
            const said = [r.instance || "(no name)", "", r.host, known(r.pid) ? String(r.pid) : NONE, r.version,
                lost ? NONE : age(between(r.started_at, now)), known(r.seen_at) ? `${age(now - r.seen_at)} ago` : NONE, r.admin, r.why];
            said.forEach((s, i) => i === 1 || text(row_.cells[i], s));
            text(row_.state, word(r.state));
            attribute(row_.state, "data-level", levels[r.state] ?? "");
            attribute(row_.cells[5], "title", `since ${clock(r.started_at, now)}`);
        });
    }
}

function makeReplica() {
    const r = row(["", "", "", "n", "n", "n", "n", "n", "why"]);
    const state = el("span", "pill");
    r.cells[1].append(state);
    return { ...r, state };
}

