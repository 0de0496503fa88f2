/** models.js: which models there are, how they are loaded, and what each adapter is held to. */

import * as api from './api.js';
import { button, byId, el } from './dom.js';
import { certificate } from './run.js';

/** @type {(model: string, other?: string) => void} */
let talk;
/** @type {api.Job[]} */
let jobs = [];
/** Adapters that are looked into stay so when all is asked anew. @type {Set<string>} */
const opened = new Set();

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

/** @param {[string, Node | string | null][]} all those that are null are left out */
function facts(all) {
    return el('dl', { class: 'facts' }, ...all.flatMap(([name, value]) => value === null ? [] : [el('dt', { text: name }), el('dd', {}, value)]));
}

/** @param {string | null} hex @returns {Node | null} a digest that is shortened, and told whole when it is pointed at */
function digest(hex) {
    return hex ? el('code', { title: hex, text: `${hex.slice(0, 12)}\u2026` }) : null;
}

/* ---- adapters ---- */

/** @param {api.Contract} c */
function verdict(c) {
    const held = !c.is_tried ? 'It has no test of its own on this base.' : c.kl === 0 ? 'It holds: its test gives the bits that it recorded.'
        : `It holds: its test is ${c.kl?.toPrecision(2)} nats from what it recorded, and may be ${c.budget?.toPrecision(2)}.`;
    return el('p', {}, el('b', { text: held }), c.note ? ` ${c.note}` : '', c.overridden ? el('span', { class: 'alarm', text: `Let pass by --force: ${c.overridden}` }) : null);
}

/** @param {number | null} n @param {string} of */
const count = (n, of) => n === null ? null : `${n.toLocaleString('en')} ${of}`;

/** @param {api.Contract} c */
function contract(c) {
    const trained = [count(c.steps, 'steps'), count(c.examples, 'examples'), count(c.tokens, 'tokens')].filter(Boolean).join(', ');
    const loss = [c.last_loss === null ? null : `${c.last_loss.toFixed(4)} at its end`, c.held_loss === null ? null : `${c.held_loss.toFixed(4)} held out`].filter(Boolean).join(', ');
    return el('div', {}, verdict(c), facts([
        ['Changes', c.targets ? `${c.targets}${c.rank ? `, rank ${c.rank}` : ''}` : null], ['Scale', String(c.scale)], ['Trained', trained || null], ['Loss', loss || null], ['Numerics', c.numerics],
        ['Base', digest(c.base)], ['Tokenizer', digest(c.tokenizer)], ['Template', digest(c.template)], ['Examples', digest(c.data)], ['SHA-256', digest(c.sha256)]]));
}

/** What lies beside its file, or why that is not shown. @param {api.Contract} c @returns {HTMLElement | null} */
function proofBeside(c) {
    if (c.certificate) return certificate(c.certificate);
    return c.certificate_refused ? el('p', { class: 'alarm', text: `No certificate is shown: ${c.certificate_refused}.` }) : null;
}

/** Of a result, or of a checkpoint of the same run, its run's. @param {string} id @returns {Promise<HTMLElement | null>} */
async function proofOf(id) {
    const job = jobs.find(each => each.fine_tuned_model && (each.fine_tuned_model === id || id.startsWith(`${each.fine_tuned_model}-at-`)));
    const file = job?.result_files.find(each => each.endsWith('-c'));
    return file ? certificate(JSON.parse(await (await api.content(file)).text())) : null;
}

/** @param {string} id "model:adapter" @returns {HTMLElement} */
function adapter(id) {
    const [model, name] = [id.slice(0, id.indexOf(':')), id.slice(id.indexOf(':') + 1)], inside = el('div', { class: 'inside' });
    const fill = async () => {
        try {
            const [found, of_job] = await Promise.all([api.contract(id), proofOf(id)]), proof = of_job || (found && proofBeside(found));
            inside.replaceChildren(found ? contract(found) : el('p', { class: 'faint', text: 'Its model is away: it is held to its contract when that is loaded.' }), ...(proof ? [proof] : []),
                el('div', { class: 'row acts' }, button('Talk with it', () => talk(id), { class: 'plain', 'aria-label': `Talk with it: ${id}` }),
                   button('Compare with its base', () => talk(model, id), { class: 'plain', 'aria-label': `Compare with its base: ${id}` })));
        } catch (error) {
            inside.replaceChildren(el('p', { class: 'alarm', text: `${error instanceof Error ? error.message : error}` }));
        }
    };
    const made = el('details', { class: 'adapter', ontoggle: () => {
        if (made.open) opened.add(id);
        else opened.delete(id);
        if (made.open && !inside.children.length) fill();
    } }, el('summary', {}, el('code', { text: name })), inside);
    made.open = opened.has(id);
    return made;
}

/* ---- models ---- */

/** @param {api.Loaded} model @param {string} metrics @param {number | null} context @returns {[string, Node | string | null][]} */
function loaded(model, metrics, context) {
    /** @type {[string, string][]} */
    const counts = [['requests_running', 'Requests that run'], ['requests_waiting', 'Requests that wait'], ['tokens_generated_total', 'Tokens drawn'],
                    ['tokens_computed_total', 'Tokens computed'], ['tokens_reused_total', 'Tokens known before']];
    return [['Files', model.bytes ? size(model.bytes) : null], ['Weights', /^0*$/.test(model.weights) ? null : digest(model.weights)], ['Numerics', model.numerics], ['Keys and values', model.cache],
            ['Context', context === null ? null : `${context.toLocaleString('en')} tokens`],
            ...counts.map(([name, label]) => /** @type {[string, string | null]} */ ([label, metric(metrics, name, model.name)?.toLocaleString('en') ?? null]))];
}

/** @param {string} name @param {string} state @param {[string, Node | string | null][]} about @param {string[]} adapters */
function card(name, state, about, adapters) {
    return el('section', { class: 'card' }, el('h2', {}, name, ' ', state ? el('span', { class: `state ${state}`, text: STATES[state] || state }) : null), facts(about), el('h3', { text: 'Adapters' }),
              ...(adapters.length ? adapters.map(adapter) : [el('p', { class: 'faint', text: 'None yet: training makes one, and --lora NAME=FILE gives one.' })]));
}

/** @param {string[]} names of /v1/models */
export async function show(names) {
    const place = byId('loaded'), about = byId('about'), of = (/** @type {string} */ name) => names.filter(id => id.startsWith(`${name}:`));
    jobs = await api.jobs().catch(() => []);
    try {
        const [props, metrics] = await Promise.all([api.props(), api.metrics()]);
        const contexts = await Promise.all(props.models.map(m => m.state === 'ready' ? api.contextOf(m.name) : null));
        const memory = /^hone_memory_bytes (\d+)/m.exec(metrics);
        about.textContent = `hone ${props.version}${memory ? `, ${size(Number(memory[1]))} of memory in use by all of them` : ''}`;
        place.replaceChildren(...props.models.map((m, i) => card(m.name, m.state, loaded(m, metrics, contexts[i]), of(m.name))));
    } catch (error) {
        const is_right = error instanceof api.Refused && error.status === 403;
        about.textContent = is_right ? 'How they are loaded is told to keys with the admin right.' : `${error instanceof Error ? error.message : error}`;
        place.replaceChildren(...names.filter(id => !id.includes(':')).map(name => card(name, '', [], of(name))));
    }
}

/** @param {typeof talk} talks */
export function make(talks) {
    talk = talks;
}
