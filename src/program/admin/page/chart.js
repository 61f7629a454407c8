// Curves over the last minutes. A gap in what is known is a gap in the curve.

import { clock, known, number, rate } from "./format.js";
import { attribute, el, shape, text } from "./dom.js";

const LEFT = 4;
const RIGHT = 52; // the scale stands there, beside the newest point
const TOP = 8;
const BOTTOM = 20;

// A round number over the highest point, so that the scale does not jump with each of them.
export function roundUp(n) {
    if (!(n > 0)) return 10;
    const step = 10 ** Math.floor(Math.log10(n));
    return Math.max(10, [1, 2, 5, 10].map((f) => f * step).find((top) => top >= n));
}

// Pieces of the curve: where a value is not known, or points are missing, one ends.
export function pieces(points, of, longest) {
    const all = [];
    let last = null;
    for (const p of points) {
        const value = of(p);
        if (!known(value)) {
            last = null;
            continue;
        }
        if (last === null || p.at - last > longest) all.push([]);
        all.at(-1).push([p.at, value]);
        last = p.at;
    }
    return all;
}

const gridTimes = [15, 30, 60, 120, 180, 300].map((s) => s * 1000);

function timesOf(from, to) {
    const every = gridTimes.find((ms) => (to - from) / ms <= 6) ?? gridTimes.at(-1);
    const times = [];
    for (let t = Math.ceil(from / every) * every; t <= to; t += every) times.push(t);
    return times;
}

export class Chart {
    #pointer = null;
    #shown = null;
    #width = 0;

    // series: [{ name, className, of(point), filled, rate }]
    constructor(host, label, series, height = 168) {
        this.label = label;
        this.height = height;
        this.series = series.map((s) => ({ ...s, value: el("b", "n") }));
        this.time = el("span", "muted n");
        this.svg = shape("svg", { class: "curve", height, role: "img" });
        const legend = el("p", "legend");
        for (const s of this.series) legend.append(el("span", "", el("i", `swatch ${s.className}`), `${s.name} `, s.value));
        legend.append(this.time);
        host.append(legend, this.svg);
        this.svg.addEventListener("pointermove", (e) => this.#point(e.offsetX));
        this.svg.addEventListener("pointerleave", () => this.#point(null));
        new ResizeObserver(() => this.#draw()).observe(this.svg);
    }

    // view: { window: [from, to], points, longest: ms without a point that are a gap, top: of the scale, or null }
    show(view) {
        this.#shown = view;
        this.#draw();
    }

    #point(x) {
        this.#pointer = x;
        this.#draw();
    }

    #nearest(from, to) {
        const { points } = this.#shown;
        if (this.#pointer === null || points.length === 0) return null;
        const at = from + ((this.#pointer - LEFT) / (this.#width - LEFT - RIGHT)) * (to - from);
        return points.reduce((best, p) => (Math.abs(p.at - at) < Math.abs(best.at - at) ? p : best));
    }

    #draw() {
        this.#width = this.svg.clientWidth;
        if (!this.#shown || this.#width < LEFT + RIGHT + 20) return;
        const { window: [from, to], points } = this.#shown;
        const top = this.#shown.top ?? roundUp(Math.max(0, ...points.flatMap((p) => this.series.map((s) => s.of(p) ?? 0))));
        const x = (t) => LEFT + ((t - from) / (to - from)) * (this.#width - LEFT - RIGHT);
        const y = (v) => this.height - BOTTOM - (Math.min(v, top) / top) * (this.height - TOP - BOTTOM);
        const marked = this.#nearest(from, to);
        const parts = [...this.#grid(x, y, from, to, top), ...this.series.flatMap((s) => this.#curve(s, x, y))];
        if (marked) parts.push(shape("line", { class: "cross", x1: x(marked.at), x2: x(marked.at), y1: TOP, y2: this.height - BOTTOM }));
        this.svg.replaceChildren(...parts);
        this.#tell(marked ?? points.at(-1), marked);
    }

    #grid(x, y, from, to, top) {
        const parts = [];
        for (const v of [0, top / 2, top]) {
            parts.push(shape("line", { class: "grid", x1: LEFT, x2: this.#width - RIGHT, y1: y(v), y2: y(v) }));
            const mark = shape("text", { class: "axis", x: this.#width - RIGHT + 6, y: y(v) + 4 });
            mark.textContent = number(v);
            parts.push(mark);
        }
        for (const t of timesOf(from, to)) {
            const middle = x(t) > 28 && x(t) < this.#width - RIGHT;
            if (!middle) continue;
            const mark = shape("text", { class: "axis", x: x(t), y: this.height - 4, "text-anchor": "middle" });
            mark.textContent = t % 60000 === 0 ? clock(t).slice(0, 5) : clock(t);
            parts.push(mark);
        }
        return parts;
    }

    #curve(s, x, y) {
        return pieces(this.#shown.points, s.of, this.#shown.longest).flatMap((piece) => {
            const line = piece.map(([t, v], i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join("");
            const parts = [];
            if (s.filled) {
                const [first, last] = [x(piece[0][0]), x(piece.at(-1)[0])].map((n) => n.toFixed(1));
                parts.push(shape("path", { class: `fill ${s.className}`, d: `${line}L${last} ${y(0)}L${first} ${y(0)}Z` }));
            }
            // A piece of one point is a dot: a stroke of no length with round ends.
            const lone = piece.length === 1;
            parts.push(shape("path", { class: `stroke ${s.className}${lone ? " lone" : ""}`, d: lone ? `${line}h0.01` : line }));
            return parts;
        });
    }

    #tell(point, marked) {
        const words = this.series.map((s) => {
            const value = point ? s.of(point) : null;
            const said = s.rate ? rate(value) : number(value);
            text(s.value, said);
            return `${s.name} ${said}`;
        });
        text(this.time, marked ? `at ${clock(marked.at)}` : "");
        if (!marked) attribute(this.svg, "aria-label", `${this.label}; now ${words.join(", ")}`);
    }
}
