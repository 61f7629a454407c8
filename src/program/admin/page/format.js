// Numbers and times as people read them. What is not known, null or missing, is a dash: never 0, never a guess.

export const NONE = "\u2013";

// A minus never stands before a 0.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0, signDisplay: "negative" });
const tenth = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1, signDisplay: "negative" });

export const known = (n) => typeof n === "number" && Number.isFinite(n);

// From one instant to another; null where one of them is not known.
export const between = (from, to) => (known(from) && known(to) ? to - from : null);

export function number(n) {
    return known(n) ? whole.format(n) : NONE;
}

// A rate: one decimal where it is small.
export function rate(n) {
    if (!known(n)) return NONE;
    return Math.abs(n) < 10 ? tenth.format(n) : whole.format(n);
}

// "many" where a plural is not made by an s alone.
export function count(n, one, many = one + "s") {
    return `${number(n)} ${n === 1 ? one : many}`;
}

// "not_ready" as people write it.
export function word(name) {
    return typeof name === "string" && name ? name.replaceAll("_", " ") : "not known";
}

// Says 0 % and 100 % only where it is so.
export function percent(part, all) {
    if (!known(part) || !known(all) || all <= 0) return NONE;
    const p = (100 * part) / all;
    if (p > 0 && p < 1) return "< 1\u00a0%";
    if (p > 99 && p < 100) return "> 99\u00a0%";
    return `${whole.format(p)}\u00a0%`;
}

const two = (n) => String(n).padStart(2, "0");

export function duration(ms) {
    if (!known(ms)) return NONE;
    const t = Math.max(0, ms);
    if (t < 1000) return `${Math.round(t)}\u00a0ms`;
    if (t < 9950) return `${tenth.format(t / 1000)}\u00a0s`;
    if (t < 59500) return `${Math.round(t / 1000)}\u00a0s`;
    const s = Math.round(t / 1000);
    if (s < 3600) return `${Math.floor(s / 60)}\u00a0min ${two(s % 60)}\u00a0s`;
    const m = Math.floor(s / 60);
    if (m < 1440) return `${Math.floor(m / 60)}\u00a0h ${two(m % 60)}\u00a0min`;
    return `${Math.floor(m / 1440)}\u00a0d ${Math.floor((m % 1440) / 60)}\u00a0h`;
}

// In whole seconds, for what counts on: "0 s", "59 s", "4 min 05 s".
export function age(ms) {
    if (!known(ms)) return NONE;
    return ms < 1000 ? "0\u00a0s" : duration(Math.floor(ms / 1000) * 1000);
}

export function latency(us) {
    if (!known(us)) return NONE;
    if (us < 1000) return `${Math.round(us)}\u00a0\u00b5s`;
    if (us < 99950) return `${tenth.format(us / 1000)}\u00a0ms`;
    return duration(us / 1000);
}

// A clock that runs: 1:02:03.
export function countdown(ms) {
    if (!known(ms)) return NONE;
    const s = Math.max(0, Math.ceil(ms / 1000));
    if (s >= 86400) return duration(s * 1000);
    return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// In the reader's time zone; with the day where it is not today's.
export function clock(ms, now) {
    if (!known(ms) || ms <= 0) return NONE;
    const d = new Date(ms);
    const time = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
    if (!known(now) || new Date(now).toDateString() === d.toDateString()) return time;
    return `${d.getDate()}\u00a0${months[d.getMonth()]} ${time}`;
}

// The same to the minute.
export function minute(ms, now) {
    const t = clock(ms, now);
    return t === NONE ? t : t.slice(0, -3);
}
