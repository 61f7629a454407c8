// The only place that makes nodes. Text is set as text: the policy of the page refuses HTML made of strings.

import { NONE } from "./format.js";

export const byId = (id) => document.getElementById(id);

export function el(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
}

export function shape(tag, attributes) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, value);
    return node;
}

// What is not known is a dash. Untouched where nothing changes: what somebody has selected stays selected, and a screen reader does not repeat it.
export function text(node, value) {
    const now = value === null || value === undefined ? NONE : String(value);
    if (node.textContent !== now) node.textContent = now;
}

export function attribute(node, name, value) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function hide(node, hidden) {
    if (node.hidden !== hidden) node.hidden = hidden;
}

const shown = new WeakMap(); // parent: its rows by key

// Makes the children of parent those of items, in their order: each is made once for its key, and updated ever after.
export function keyed(parent, items, keyOf, make, update) {
    const had = shown.get(parent) ?? new Map();
    const rows = new Map();
    items.forEach((item, i) => {
        const key = String(keyOf(item, i));
        if (rows.has(key)) return;
        const row = had.get(key) ?? make(item);
        rows.set(key, row);
        update(row, item);
    });
    had.forEach((row, key) => {
        if (!rows.has(key)) row.root.remove();
    });
    let at = parent.firstElementChild;
    rows.forEach((row) => {
        if (row.root === at) at = at.nextElementSibling;
        else parent.insertBefore(row.root, at);
    });
    shown.set(parent, rows);
}

// A table whose rows are keyed; wide ones scroll inside of their card.
export function table(host, heads, empty) {
    const body = el("tbody");
    const cells = heads.map(([name, className]) => {
        const th = el("th", className ?? "", name);
        th.scope = "col";
        return th;
    });
    const root = el("table", "", el("thead", "", el("tr", "", ...cells)), body);
    const none = el("p", "none", empty);
    const frame = el("div", "scroll", root);
    host.append(frame, none);
    return {
        body,
        show(items, keyOf, make, update) {
            keyed(body, items, keyOf, make, update);
            hide(frame, items.length === 0);
            hide(none, items.length > 0);
        },
    };
}

// A row with a cell for each class; its cells take text.
export function row(classes) {
    const cells = classes.map((className) => el("td", className ?? ""));
    return { root: el("tr", "", ...cells), cells };
}
