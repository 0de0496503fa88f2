/** settings.js: what is asked for beside the question. A field that is empty is not sent: the server's own default holds. */

import { byId, el } from './dom.js';

/** @typedef {{name: string, label: string, min: number, max: number, step: number | 'any', otherwise: string}} Setting */

/** @type {Setting[]} */
const NUMBERS = [
    { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 'any', otherwise: '1' },
    { name: 'top_p', label: 'Top p', min: 0, max: 1, step: 'any', otherwise: '1' },
    { name: 'top_k', label: 'Top k', min: 0, max: 2147483647, step: 1, otherwise: '0: all' },
    { name: 'min_p', label: 'Min p', min: 0, max: 1, step: 'any', otherwise: '0: off' },
    { name: 'repetition_penalty', label: 'Repetition penalty', min: 0, max: 10, step: 'any', otherwise: '1: off' },
    { name: 'frequency_penalty', label: 'Frequency penalty', min: -2, max: 2, step: 'any', otherwise: '0' },
    { name: 'presence_penalty', label: 'Presence penalty', min: -2, max: 2, step: 'any', otherwise: '0' },
    { name: 'max_completion_tokens', label: 'Tokens at most', min: 1, max: 2147483647, step: 1, otherwise: "to the context's end" },
    { name: 'seed', label: 'Seed', min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, otherwise: 'drawn for each answer' },
];
const KEPT = 'hone-settings';

/** @type {Record<string, HTMLInputElement>} */
const fields = {};

export function make() {
    const place = byId('numbers');
    for (const s of NUMBERS) {
        const input = el('input', { type: 'number', id: `set-${s.name}`, min: s.min, max: s.max, step: s.step, placeholder: s.otherwise, oninput: keep });
        fields[s.name] = input;
        place.append(el('label', { for: input.id }, s.label), input);
    }
    const kept = JSON.parse(localStorage.getItem(KEPT) || '{}');
    for (const s of NUMBERS) fields[s.name].value = typeof kept[s.name] === 'string' ? kept[s.name] : '';
    byId('set-stop').value = typeof kept.stop === 'string' ? kept.stop : '';
    byId('set-tokens').checked = kept.tokens !== false;
    byId('set-thinking').value = typeof kept.thinking === 'string' ? kept.thinking : '';
    for (const id of ['set-stop', 'set-tokens', 'set-thinking']) byId(id).addEventListener('input', keep);
}

function keep() {
    /** @type {Record<string, unknown>} */
    const all = { stop: byId('set-stop').value, tokens: byId('set-tokens').checked, thinking: byId('set-thinking').value };
    for (const s of NUMBERS) all[s.name] = fields[s.name].value;
    localStorage.setItem(KEPT, JSON.stringify(all));
}

export function clear() {
    for (const s of NUMBERS) fields[s.name].value = '';
    byId('set-stop').value = byId('set-thinking').value = '';
    byId('set-tokens').checked = true;
    keep();
}

/** @param {number} seed */
export function setSeed(seed) {
    fields.seed.value = String(seed);
    keep();
}

/** The first field that holds what cannot be sent is pointed at. @returns {boolean} */
export function areWell() {
    const wrong = NUMBERS.map(s => fields[s.name]).find(input => !input.checkValidity());
    if (wrong) {
        byId('settings').showModal();
        wrong.reportValidity();
    }
    return !wrong;
}

/** @param {boolean} is_again another seed than the one that is set @returns {Record<string, unknown>} fields of a request */
export function asked(is_again) {
    /** @type {Record<string, unknown>} */
    const out = {};
    for (const s of NUMBERS)
        if (fields[s.name].value !== '' && !(is_again && s.name === 'seed')) out[s.name] = fields[s.name].valueAsNumber;
    const stop = byId('set-stop').value.split('\n').filter((/** @type {string} */ line) => line !== '');
    if (stop.length) out.stop = stop;
    if (byId('set-thinking').value) out.enable_thinking = byId('set-thinking').value === 'yes';
    return byId('set-tokens').checked ? { ...out, logprobs: true, top_logprobs: 5 } : out;
}
