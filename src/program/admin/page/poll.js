// Asks again and again, one question at a time. What is not an answer is told as such, in a sentence.

const PATIENCE_MS = 4000;
const SLOWEST_MS = 5000;

export class Trouble extends Error {
    constructor(sentence, unready) {
        super(sentence);
        this.unready = unready; // it answers, but does not know yet
    }
}

// Ids of activities may be beyond what a number holds exactly: they are taken as they stand there.
export function parse(body) {
    return JSON.parse(body, (key, value, context) => {
        if (key !== "id" || typeof value !== "number") return value;
        if (Number.isSafeInteger(value)) return String(value);
        return context?.source ?? `\u2248${value}`;
    });
}

async function refusal(response) {
    const said = (await response.text()).trim().slice(0, 300);
    if (response.status === 503) return new Trouble(said || "the survey is not ready", true);
    if (response.status === 404) return new Trouble("this orderd answers no such question: it is older than the page", false);
    return new Trouble(`the answer was ${response.status}${said ? `: ${said}` : ""}`, false);
}

export async function ask(path) {
    let response;
    try {
        response = await fetch(path, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (e) {
        throw new Trouble(e.name === "TimeoutError" ? `nothing came in ${PATIENCE_MS / 1000} s` : "it cannot be reached", false);
    }
    if (!response.ok) throw await refusal(response);
    try {
        return parse(await response.text());
    } catch {
        throw new Trouble("the answer was cut short or is no JSON", false);
    }
}

// Calls once() again and again, interval ms after it began, less often while it answers false. wake(): now.
export class Loop {
    #timer = 0;
    #busy = false;
    #failures = 0;

    constructor(once, interval) {
        this.once = once;
        this.interval = interval;
    }

    async wake() {
        if (this.#busy) return;
        clearTimeout(this.#timer);
        this.#busy = true;
        const began = performance.now();
        this.#failures++;
        try {
            if (await this.once()) this.#failures = 0;
        } finally {
            this.#busy = false;
            this.#timer = setTimeout(() => this.wake(), Math.max(100, this.#pause() - (performance.now() - began)));
        }
    }

    #pause() {
        return Math.min(this.interval * Math.max(1, this.#failures / 3), Math.max(SLOWEST_MS, this.interval));
    }
}
