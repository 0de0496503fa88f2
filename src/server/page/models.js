/** models.js: which models there are and how they are loaded. */

import * as api from './api.js';
import { byId, el } from './dom.js';

/** @param {string} text of /metrics @param {string} name @param {string} model @returns {number | null} */
function metric(text, name, model) {
    const line = text.split('\n').find(each => each.startsWith(`hone_${name}{model="${model}"} `));
    return line ? Number(line.slice(line.lastIndexOf(' ') + 1)) : null;
}

/** @param {number} bytes */
function size(bytes) {
    return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

const STATES = /** @type {Record<string, string>} */ ({ ready: 'loaded', loading: 'is being loaded', away: 'loaded when it is asked' });

/** @param {api.Loaded} model @param {string} metrics */
function card(model, metrics) {
    /** @type {[string, string][]} */
    const facts = [['Numerics', model.numerics], ['Keys and values', model.cache]];
    /** @type {[string, string][]} */
    const counts = [['requests_running', 'Requests that run'], ['requests_waiting', 'Requests that wait'], ['tokens_generated_total', 'Tokens drawn'],
                    ['tokens_computed_total', 'Tokens computed'], ['tokens_reused_total', 'Tokens known before']];
    for (const [name, label] of counts) {
        const n = metric(metrics, name, model.name);
        if (n !== null) facts.push([label, n.toLocaleString('en')]);
    }
    return el('section', { class: 'card' }, el('h2', {}, model.name, ' ', el('span', { class: `state ${model.state}`, text: STATES[model.state] || model.state })),
              el('dl', {}, ...facts.flatMap(([name, value]) => [el('dt', { text: name }), el('dd', { text: value })])),
              el('h3', {}, 'Adapters'),
              model.adapters.length ? el('ul', {}, ...model.adapters.map(a => el('li', {}, el('code', { text: `${model.name}:${a}` }))))
                                    : el('p', { class: 'faint', text: 'none: --lora NAME=FILE gives it one' }));
}

/** @param {string[]} names of /v1/models */
export async function show(names) {
    const place = byId('loaded'), about = byId('about');
    try {
        const [props, metrics] = await Promise.all([api.props(), api.metrics()]);
        const memory = /^hone_memory_bytes (\d+)/m.exec(metrics);
        about.textContent = `hone ${props.version}${memory ? `, ${size(Number(memory[1]))} in use` : ''}`;
        place.replaceChildren(...props.models.map(m => card(m, metrics)));
    } catch (error) {
        const is_right = error instanceof api.Refused && error.status === 403;
        about.textContent = is_right ? 'How they are loaded is told to keys with the admin right.' : `${error instanceof Error ? error.message : error}`;
        place.replaceChildren(el('section', { class: 'card' }, el('h2', {}, 'All'), el('ul', {}, ...names.map(name => el('li', {}, el('code', { text: name }))))));
    }
}
