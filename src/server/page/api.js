/** api.js: the server, asked. Addresses are relative, so that the page also works behind a proxy with a path of its own. */

/** @typedef {{id: string, created: number}} Model */
/** @typedef {{name: string, state: string, numerics: string, cache: string, bytes: number, weights: string, adapters: string[]}} Loaded */
/** @typedef {{sha256: string, scale: number, base: string | null, tokenizer: string | null, template: string | null, numerics: string | null,
 *             is_tried: boolean, kl: number | null, budget: number | null, note: string | null, overridden: string | null, data: string | null,
 *             targets: string | null, rank: number | null, steps: number | null, examples: number | null, tokens: number | null,
 *             last_loss: number | null, held_loss: number | null, certificate: object | null, certificate_refused: string | null}} Contract */
/** @typedef {{text: string, logprob: number, others: [string, number][]}} Token */
/** @typedef {{content?: string, reasoning?: string, calls?: {index: number, id?: string, name?: string, args?: string}[], tokens?: Token[],
 *             seed?: number, model?: string, finish?: string, usage?: {prompt_tokens: number, completion_tokens: number}}} Piece */

const KEY = 'hone-key';

export class Refused extends Error {
    /** @param {number} status @param {string} message */
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/** @param {string} key "" forgets it */
export function setKey(key) {
    if (key) sessionStorage.setItem(KEY, key);
    else sessionStorage.removeItem(KEY);
}

export function hasKey() {
    return sessionStorage.getItem(KEY) !== null;
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @param {string} [method]
 */
async function call(path, body, signal, method = body === undefined ? 'GET' : 'POST') {
    const key = sessionStorage.getItem(KEY);
    /** @type {Record<string, string>} */
    const headers = key ? { Authorization: `Bearer ${key}` } : {};
    const is_form = body instanceof FormData;
    if (body !== undefined && !is_form) headers['Content-Type'] = 'application/json';
    const reply = await fetch(path, { method, headers, signal, cache: 'no-store', credentials: 'same-origin',
                                      body: body === undefined ? undefined : is_form ? body : JSON.stringify(body) });
    if (!reply.ok) throw new Refused(reply.status, await reason(reply));
    return reply;
}

/** @param {Response} reply */
async function reason(reply) {
    const text = await reply.text();
    try {
        return String(JSON.parse(text).error.message);
    } catch {
        return text.slice(0, 300) || `${reply.status} ${reply.statusText}`;
    }
}

/** @returns {Promise<Model[]>} */
export async function models() {
    return (await (await call('v1/models')).json()).data;
}

/** What an adapter is held to; null: its model is away. @param {string} name @returns {Promise<Contract | null>} */
export async function contract(name) {
    return (await (await call(`v1/models/${encodeURIComponent(name)}`)).json()).contract ?? null;
}

/** @returns {Promise<{version: string, models: Loaded[]}>} */
export async function props() {
    return (await call('props')).json();
}

/** @param {string} model that is loaded @returns {Promise<number | null>} tokens */
export async function contextOf(model) {
    return (await (await call(`props?model=${encodeURIComponent(model)}`)).json()).default_generation_settings?.n_ctx ?? null;
}

export async function metrics() {
    return (await call('metrics')).text();
}

/* ---- training ---- */

/** @typedef {{id: string, filename: string, bytes: number, examples?: number, kind?: string, methods?: string[], purpose: string}} Kept */
/** @typedef {{line: number, sequences: {text: string, role: string, weight: number}[][]}} Shown */
/** @typedef {{loss: number, accuracy: number}} Held */
/** @typedef {{id: string, status: string, model: string, fine_tuned_model: string | null, step: number, steps: number, loss: number | null,
 *             created_at: number, finished_at: number | null, estimated_finish: number | null, estimated_seconds: number | null, estimated_by: string | null, memory_bytes: number, examples: number, trained_tokens: number | null,
 *             sha256: string | null, verdict: string | null, waits_for: string | null, settings: string[] | null, seed: number, method: {type: string},
 *             error: {message: string} | null, result_files: string[], held_before: Held | null, held_after: Held | null}} Job */

/** @returns {Promise<Kept[]>} */
export async function files() {
    return (await (await call('v1/files?purpose=fine-tune')).json()).data;
}

/** @param {File} file @param {string} model @returns {Promise<Kept>} */
export async function sendFile(file, model) {
    const form = new FormData();
    form.append('purpose', 'fine-tune');
    form.append('model', model);
    form.append('file', file);
    return (await call('v1/files', form)).json();
}

/** @param {string} id */
export async function removeFile(id) {
    await call(`v1/files/${id}`, undefined, undefined, 'DELETE');
}

/** @param {string} id @returns {Promise<Blob>} */
export async function content(id) {
    return (await call(`v1/files/${id}/content`)).blob();
}

/** @param {string} id @param {string} model @param {number} first @returns {Promise<{data: Shown[], has_more: boolean}>} */
export async function tokens(id, model, first) {
    return (await call(`v1/files/${id}/tokens?limit=1&first=${first}&model=${encodeURIComponent(model)}`)).json();
}

/** @returns {Promise<Job[]>} */
export async function jobs() {
    return (await (await call('v1/fine_tuning/jobs?limit=100')).json()).data;
}

/** @param {Record<string, unknown>} body @returns {Promise<Job>} */
export async function train(body) {
    return (await call('v1/fine_tuning/jobs', body)).json();
}

/** @param {string} id @param {'pause' | 'resume' | 'cancel'} how */
export async function change(id, how) {
    await call(`v1/fine_tuning/jobs/${id}/${how}`, {});
}

/** @typedef {{layer: number, tokens: number[], grad_norms: number[]}} Load */
/** @typedef {{prompt: string, expected: string, answer: string}} Sample */
/** @typedef {{step: number, loss?: number, grad_norm?: number, rate?: number, held_loss?: number, held_accuracy?: number, experts?: Load[], samples?: Sample[]}} Line */
/** @typedef {{id: string, created_at: number, level: string, type: string, message: string, data: Line | null}} Event */

/** What happened to a job since what is known of it; a message may say that it began again, and then all is read anew.
 * @param {string} id @param {Map<string, Event>} known takes it */
export async function follow(id, known) {
    /** @type {Map<string, Event>} */
    const found = new Map();
    for (let after = '', limit = known.size ? 100 : 1000;;) {
        const page = await (await call(`v1/fine_tuning/jobs/${id}/events?limit=${limit}${after}`)).json();
        const fresh = /** @type {Event[]} */ (page.data).filter(event => !known.has(event.id));
        const is_anew = known.size > 0 && fresh.some(event => event.type === 'message');
        for (const event of /** @type {Event[]} */ (is_anew ? page.data : fresh)) found.set(event.id, event);
        if (is_anew) {
            known.clear();
            limit = 1000;
            if (!page.has_more) break;
        } else if (fresh.length < page.data.length || !page.has_more) {
            break;
        }
        after = `&after=${page.data[page.data.length - 1].id}`;
    }
    for (const [key, event] of found) known.set(key, event);
}

/** Takes a stream of server-sent events apart: push() is given text as it comes, and returns the data of each whole event. */
export function eventReader() {
    let rest = '';
    return {
        /** @param {string} text @returns {string[]} */
        push(text) {
            rest += text;
            const parts = rest.split(/\r?\n\r?\n/);
            rest = parts.pop() || '';
            return parts.map(part => part.split(/\r?\n/).filter(line => line.startsWith('data:'))
                                         .map(line => line.slice(5).replace(/^ /, '')).join('\n'))
                        .filter(data => data !== '');
        },
    };
}

/** Bytes that are not whole UTF-8 are shown by their numbers. @param {{token: string, bytes?: number[] | null}} of */
function textOf(of) {
    if (!of.bytes) return of.token;
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(of.bytes));
    } catch {
        return of.bytes.map(byte => `\u2039${byte.toString(16).padStart(2, '0')}\u203a`).join('');
    }
}

/** @param {any} chunk @returns {Piece} */
function pieceOf(chunk) {
    const choice = (chunk.choices || [])[0] || {}, delta = choice.delta || {};
    return {
        content: delta.content || '', reasoning: delta.reasoning_content || '', seed: chunk.seed, model: chunk.model,
        finish: choice.finish_reason || undefined, usage: chunk.usage || undefined,
        calls: (delta.tool_calls || []).map((/** @type {any} */ c) => ({ index: c.index || 0, id: c.id, name: c.function?.name, args: c.function?.arguments })),
        tokens: (choice.logprobs?.content || []).map((/** @type {any} */ t) => ({
            text: textOf(t), logprob: t.logprob, others: (t.top_logprobs || []).map((/** @type {any} */ o) => [textOf(o), o.logprob]) })),
    };
}

/**
 * An answer, piece by piece. A stream that ends before its [DONE] is an error.
 * @param {Record<string, unknown>} body
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Piece>}
 */
export async function* chat(body, signal) {
    const reply = await call('v1/chat/completions', { ...body, stream: true, stream_options: { include_usage: true } }, signal);
    if (!reply.body) throw new Error('the reply has no body');
    const reader = reply.body.getReader(), decoder = new TextDecoder(), events = eventReader();
    for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error('the connection ended before the answer did');
        for (const data of events.push(decoder.decode(value, { stream: true }))) {
            if (data === '[DONE]') return;
            const chunk = JSON.parse(data);
            if (chunk.error) throw new Error(String(chunk.error.message));
            yield pieceOf(chunk);
        }
    }
}
