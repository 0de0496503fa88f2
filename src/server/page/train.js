/** train.js: examples brought in and looked at, models trained of them, how that goes. */

import * as api from './api.js';
import { announce, button, byId, el } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg', WIDE = 640, HIGH = 220, EDGE = 56, CURVES = 5, AGAIN_MS = 1000;

/** @type {{talk: (model: string, other?: string) => void, models: () => void}} */
let around;
/** @type {api.Kept[]} */
let kept = [];
/** @type {Map<string, {step: number, loss?: number, held_loss?: number}[]>} */
const curves = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let were_going = new Set();

/** @param {unknown} error */
function tell(error) {
    const place = byId('train-said');
    place.textContent = error instanceof Error ? error.message : String(error);
    place.className = error instanceof Error ? 'alarm' : 'faint';
}

/** @param {() => Promise<void>} act what is refused is said */
async function attempt(act) {
    try {
        tell('');
        await act();
    } catch (error) {
        tell(error);
    }
}

/* ---- files ---- */

/** @param {api.Kept} file */
function about(file) {
    return `${file.filename}: ${file.examples} ${file.kind === 'pair' ? 'pairs' : 'examples'}`;
}

function drawFiles() {
    byId('train-files').replaceChildren(...kept.map(file => el('li', {}, el('span', { text: about(file) }),
        button('Look', () => attempt(() => look(file, 0)), { 'aria-label': `look at ${file.filename}` }),
        button('\u2715', () => attempt(async () => { await api.removeFile(file.id); await refresh(); }), { 'aria-label': `delete ${file.filename}`, title: 'delete' }))));
    choose(byId('train-with'), kept.map(file => [file.id, about(file)]));
    drawMethods();
    choose(byId('train-held'), [['', 'none'], ...kept.map(file => /** @type {[string, string]} */ ([file.id, about(file)]))]);
}

/** The file says which methods take it; the first is the usual one. */
function drawMethods() {
    const file = kept.find(each => each.id === byId('train-with').value);
    choose(byId('train-how'), (file?.methods ?? []).map(name => [name, name]));
}

/** @param {HTMLSelectElement} select @param {[string, string][]} of */
function choose(select, of) {
    const before = select.value;
    select.replaceChildren(...of.map(([value, text]) => el('option', { value }, text)));
    select.value = of.some(([value]) => value === before) ? before : of[0]?.[0] ?? '';
}

/** What is learned of an example is coloured, and said to readers of screens. @param {api.Kept} file @param {number} first */
async function look(file, first) {
    const found = await api.tokens(file.id, byId('train-model').value, first);
    const example = found.data[0];
    byId('train-shown').replaceChildren(...(example ? example.sequences : []).map(sequence => el('p', { class: 'tokens', tabindex: '0', role: 'group',
        'aria-label': `example ${first + 1}: what is learned is coloured` },
        ...sequence.map(t => el('span', { class: t.weight > 0 ? 'token learned' : 'token', title: `${t.role}${t.weight > 0 ? ', learned' : ''}`, text: t.text })))),
        el('div', { class: 'row' }, button('\u2190', () => attempt(() => look(file, first - 1)), { disabled: first === 0, 'aria-label': 'the example before' }),
           el('span', { class: 'faint', text: `line ${example?.line ?? '-'}` }),
           button('\u2192', () => attempt(() => look(file, first + 1)), { disabled: !found.has_more, 'aria-label': 'the next example' })));
}

/** @param {File[]} chosen */
export function take(chosen) {
    attempt(async () => {
        for (const file of chosen) {
            announce(`${file.name} is read`);
            const found = await api.sendFile(file, byId('train-model').value);
            await refresh();
            byId('train-with').value = found.id;
            drawMethods();
            await look(found, 0);
            announce(`${about(found)}, all well`);
        }
    });
}

/* ---- asking ---- */

/** @param {string} id @returns {number | 'auto'} */
function number(id) {
    return byId(id).value === '' ? 'auto' : byId(id).valueAsNumber;
}

/** @param {boolean} is_dry */
function order(is_dry) {
    for (const id of ['train-name', 'train-epochs', 'train-batch', 'train-rate', 'train-rank'])
        if (!byId(id).reportValidity()) return null;
    const file = kept.find(each => each.id === byId('train-with').value);
    if (!file) throw new Error('Bring in examples first.');
    const type = byId('train-how').value;
    return { model: byId('train-model').value, training_file: file.id, validation_file: byId('train-held').value || undefined, dry_run: is_dry,
             suffix: byId('train-name').value || undefined, settings: byId('train-rank').value ? [`rank=${byId('train-rank').value}`] : [],
             method: { type, [type]: { hyperparameters: { n_epochs: number('train-epochs'), batch_size: number('train-batch'),
                                                          learning_rate_multiplier: number('train-rate') } } } };
}

async function estimate() {
    const body = order(true);
    if (!body) return;
    const job = await api.train(body);
    byId('train-estimated').textContent = `${job.examples} examples, ${job.steps} steps, ${(job.memory_bytes / 1e9).toFixed(2)} GB of memory.`;
}

async function start() {
    const body = order(false);
    if (!body) return;
    await api.train(body);
    announce('it waits for its turn');
    await refresh();
}

/* ---- runs ---- */

/** @param {string} name @param {Record<string, string | number>} has @param {...(Node | string)} children */
function svg(name, has, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(has)) made.setAttribute(key, String(value));
    made.append(...children);
    return made;
}

/** @param {api.Job[]} jobs */
function drawChart(jobs) {
    const shown = jobs.filter(job => (curves.get(job.id) || []).length).slice(0, CURVES);
    const all = shown.flatMap(job => curves.get(job.id) || []), losses = all.flatMap(p => [p.loss, p.held_loss]).filter(x => typeof x === 'number');
    if (!losses.length) {
        byId('train-chart').replaceChildren();
        return;
    }
    const low = Math.min(...losses), high = Math.max(...losses, low + 1e-6), last = Math.max(1, ...all.map(p => p.step));
    const x = (/** @type {number} */ step) => EDGE + (WIDE - EDGE - 8) * step / last;
    const y = (/** @type {number} */ loss) => 10 + (HIGH - 34) * (high - loss) / (high - low);
    const made = svg('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'img', 'aria-label': `loss by step, of ${shown.length} runs, from ${high.toFixed(3)} to ${low.toFixed(3)}` },
                     svg('line', { x1: EDGE, x2: WIDE - 8, y1: HIGH - 24, y2: HIGH - 24, class: 'axis' }),
                     svg('text', { x: EDGE - 8, y: 14, 'text-anchor': 'end' }, high.toFixed(3)), svg('text', { x: EDGE - 8, y: HIGH - 22, 'text-anchor': 'end' }, low.toFixed(3)),
                     svg('text', { x: EDGE, y: HIGH - 8 }, 'step 0'), svg('text', { x: WIDE - 8, y: HIGH - 8, 'text-anchor': 'end' }, `${last}`));
    shown.forEach((job, i) => {
        const points = curves.get(job.id) || [];
        made.append(svg('polyline', { class: `line c${i}`, points: points.filter(p => typeof p.loss === 'number').map(p => `${x(p.step).toFixed(1)},${y(/** @type {number} */ (p.loss)).toFixed(1)}`).join(' ') }));
        for (const p of points)
            if (typeof p.held_loss === 'number') made.append(svg('circle', { class: `dot line c${i}`, cx: x(p.step), cy: y(p.held_loss) }));
    });
    byId('train-chart').replaceChildren(made);
}

/** @param {api.Job} job @param {string} name */
async function save(job, name) {
    const file = job.result_files.find(id => id.endsWith(name[0]));
    if (!file) throw new Error(`${job.id} has no ${name}`);
    const address = URL.createObjectURL(await api.content(file));
    el('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const OVER = ['succeeded', 'failed', 'cancelled'];

/** @param {api.Job} job */
function buttons(job) {
    const change = (/** @type {'pause' | 'resume' | 'cancel'} */ how, /** @type {string} */ text) =>
        button(text, () => attempt(async () => { await api.change(job.id, how); await refresh(); }), { 'aria-label': `${text} ${job.id}` });
    const name = job.fine_tuned_model;
    if (name)
        return [button('Talk with it', () => around.talk(name), { class: 'plain' }), button('Compare with its base', () => around.talk(job.model, name), { class: 'plain' }),
                button('Report', () => attempt(() => save(job, 'report.html'))), button('Adapter', () => attempt(() => save(job, 'adapter.gguf')))];
    if (OVER.includes(job.status)) return [];
    return [job.status === 'paused' ? change('resume', 'Go on') : change('pause', 'Pause'), change('cancel', 'Cancel')];
}

/** @param {api.Job} job @param {number} i of the chart; -1: not there */
function card(job, i) {
    const held = job.held_before && job.held_after ? `, held out ${job.held_before.loss.toFixed(3)} before, ${job.held_after.loss.toFixed(3)} now` : '';
    return el('li', { class: 'card' },
              el('h2', {}, i >= 0 ? el('span', { class: `swatch s${i}` }) : null, job.fine_tuned_model || job.model, ' ', el('span', { class: `state ${job.status === 'running' ? 'ready' : ''}`, text: job.status })),
              el('progress', { max: job.steps || 1, value: job.step, 'aria-label': `steps of ${job.id}` }),
              el('p', { class: 'faint', text: `step ${job.step} of ${job.steps}${job.loss === null ? '' : `, loss ${job.loss.toFixed(4)}`}${held}` }),
              job.verdict ? el('p', { text: job.verdict }) : null, job.error ? el('p', { class: 'alarm', text: job.error.message }) : null,
              job.sha256 ? el('p', { class: 'faint' }, 'sha256 ', el('code', { text: job.sha256 })) : null, el('div', { class: 'row' }, ...buttons(job)));
}

async function refresh() {
    clearTimeout(timer);
    const [files, jobs] = await Promise.all([api.files(), api.jobs()]);
    if (JSON.stringify(files) !== JSON.stringify(kept) || !byId('train-held').options.length) {
        kept = files;
        drawFiles();
    }
    for (const job of jobs.slice(0, CURVES))
        if (!curves.has(job.id) || !OVER.includes(job.status) || were_going.has(job.id)) curves.set(job.id, await api.curve(job.id));
    drawChart(jobs);
    const in_chart = jobs.filter(job => (curves.get(job.id) || []).length).slice(0, CURVES);
    const active = document.activeElement?.getAttribute('aria-label');
    byId('train-jobs').replaceChildren(...jobs.map(job => card(job, in_chart.indexOf(job))));
    if (active) /** @type {HTMLElement | undefined} */ ([...byId('train-jobs').querySelectorAll('button')].find(b => b.getAttribute('aria-label') === active))?.focus();
    for (const job of jobs)
        if (were_going.has(job.id) && OVER.includes(job.status)) announce(`${job.fine_tuned_model || job.model}: ${job.status}`);
    were_going = new Set(jobs.filter(job => !OVER.includes(job.status)).map(job => job.id));
    if (were_going.size && !byId('train').hidden) timer = setTimeout(() => refresh().catch(tell), AGAIN_MS);
}

/** @param {string[]} names of /v1/models */
export async function show(names) {
    choose(byId('train-model'), names.filter(name => !name.includes(':')).map(name => [name, name]));
    await attempt(refresh);
}

/** @param {typeof around} with_what */
export function make(with_what) {
    around = with_what;
    byId('train-choose').addEventListener('click', () => byId('train-file').click());
    byId('train-file').addEventListener('change', () => { take([...byId('train-file').files]); byId('train-file').value = ''; });
    byId('train-with').addEventListener('change', drawMethods);
    byId('train-estimate').addEventListener('click', () => attempt(estimate));
    byId('train-start').addEventListener('click', () => attempt(start));
}
