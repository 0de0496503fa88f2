/** runs.js: jobs as they go: drawn together, beside each other in a table, and each by itself. */

import * as api from './api.js';
import { chart } from './chart.js';
import { announce, button, byId, el } from './dom.js';
import { RunView } from './run.js';

/** @typedef {import('./chart.js').Curve} Curve */

const MOST = 5, AGAIN_MS = 1000, OVER = ['succeeded', 'failed', 'cancelled'];
const WHATS = /** @type {const} */ ([['loss', 'Loss'], ['right', 'Right'], ['gradient', 'Gradient'], ['rate', 'Rate']]);

/** @type {{talk: (model: string, other?: string) => void, attempt: (act: () => Promise<void>) => Promise<void>, tell: (error: unknown) => void}} */
let around;
/** @type {api.Job[]} */
let jobs = [];
/** What is known of each. @type {Map<string, {events: Map<string, api.Event>, lines: api.Line[], told: string}>} */
const followed = new Map();
/** Those that are drawn, with their colours. @type {Map<string, number>} */
const drawn = new Map();
/** Those that were ever offered: what is new is drawn by itself while there is room. @type {Set<string>} */
const offered = new Set();
/** @type {Map<string, RunView>} */
const opened = new Map();
/** @type {Map<string, {key: string, element: HTMLElement}>} */
const cards = new Map();
/** @type {typeof WHATS[number][0]} */
let what = 'loss';
const pointed = { step: /** @type {number | null} */ (null) };
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let charted = '';

/** @param {api.Job} job */
const isOver = job => OVER.includes(job.status);
/** @param {api.Job} job */
const nameOf = job => job.fine_tuned_model || `${job.model} (${job.id.slice(6, 14)})`;

/* ---- what is known ---- */

/** @param {api.Job} job */
async function look(job) {
    const told = `${job.status} ${job.step} ${job.result_files.length}`, known = followed.get(job.id) || { events: new Map(), lines: [], told: '' };
    if (known.told === told && isOver(job)) return;
    await api.follow(job.id, known.events);
    known.told = told;
    known.lines = [...known.events.values()].flatMap(event => event.data ? [event.data] : []).sort((a, b) => a.step - b.step);
    followed.set(job.id, known);
}

/** Those that go, and the latest, are drawn until somebody chooses otherwise. */
function offer() {
    for (const job of [...jobs].reverse().sort((a, b) => Number(isOver(b)) - Number(isOver(a)))) {
        if (offered.has(job.id)) continue;
        offered.add(job.id);
        if (drawn.size < MOST) pick(job.id, true);
        else if (!isOver(job)) { pick([...drawn.keys()][0], false); pick(job.id, true); }
    }
    for (const id of drawn.keys()) if (!jobs.some(job => job.id === id)) drawn.delete(id);
}

/** @param {string} id @param {boolean} is_drawn */
function pick(id, is_drawn) {
    const taken = [...drawn.values()];
    if (is_drawn) drawn.set(id, [0, 1, 2, 3, 4].find(colour => !taken.includes(colour)) ?? 0);
    else drawn.delete(id);
}

/* ---- drawn ---- */

/** @param {api.Job} job @returns {Curve} */
function curveOf(job) {
    const lines = followed.get(job.id)?.lines || [];
    const of = (/** @type {(line: api.Line) => number | null | undefined} */ value) => lines.flatMap(line => {
        const y = value(line);
        return typeof y === 'number' && Number.isFinite(y) ? [{ x: line.step, y }] : [];
    });
    const none = /** @type {{x: number, y: number}[]} */ ([]);
    const line = what === 'loss' ? of(l => l.loss) : what === 'gradient' ? of(l => l.grad_norm) : what === 'rate' ? of(l => l.rate) : none;
    const dots = what === 'loss' ? of(l => l.held_loss) : what === 'right' ? of(l => typeof l.held_accuracy === 'number' ? 100 * l.held_accuracy : null) : none;
    return { name: nameOf(job), colour: drawn.get(job.id) ?? 0, line, dots };
}

function drawChart() {
    const shown = jobs.filter(job => drawn.has(job.id)), curves = shown.map(curveOf), width = Math.round(byId('train-chart').clientWidth) - 32, key = JSON.stringify([what, width, curves.map(c => [c.name, c.colour, c.line.length, c.dots.length])]);
    byId('train-what').replaceChildren(...WHATS.map(([name, label]) => button(label, () => { what = name; pointed.step = null; drawChart(); byId('train-what').querySelector('[aria-pressed="true"]')?.focus(); },
                                                                        { 'aria-pressed': String(name === what) })));
    drawTable(shown);
    if (key === charted) return;
    charted = key;
    const has_focus = byId('train-chart').contains(document.activeElement);
    const label = { loss: 'Loss', right: 'Right of what is held out, in %', gradient: 'Norm of the gradient', rate: 'Rate' }[what];
    byId('train-chart').replaceChildren(chart(curves, { label, from_zero: what === 'rate' || what === 'gradient', width }, pointed));
    if (has_focus) byId('train-chart').querySelector('.chart')?.focus();
}

/** @param {number | null | undefined} value @param {number} digits */
const short = (value, digits) => typeof value === 'number' ? value.toFixed(digits) : '\u2013';

/** A row of what is not the same in all. @param {string} name @param {string[]} values @returns {[string, string[]][]} */
const differing = (name, values) => new Set(values).size > 1 ? [[name, values]] : [];

/** Settings in which these runs differ. @param {api.Job[]} of @returns {[string, string[]][]} */
function differences(of) {
    const all = of.map(job => new Map((job.settings || []).map(word => /** @type {[string, string]} */ ([word.split('=')[0], word.includes('=') ? word.slice(word.indexOf('=') + 1) : 'yes']))));
    return [...new Set(all.flatMap(map => [...map.keys()]))].flatMap(name => differing(name, all.map(map => map.get(name) ?? 'usual')));
}

/** Two runs or more beside each other. @param {api.Job[]} of */
function drawTable(of) {
    if (of.length < 2) {
        byId('train-beside').replaceChildren();
        return;
    }
    /** @type {[string, string[]][]} */
    const rows = [...differing('Model', of.map(job => job.model)), ...differing('Learned by', of.map(job => job.method.type)), ['Steps', of.map(job => job.step < job.steps ? `${job.step} of ${job.steps}` : `${job.steps}`)],
                  ['Loss', of.map(job => short(job.loss, 4))], ['Held out, before', of.map(job => short(job.held_before?.loss, 4))], ['Held out, now', of.map(job => short(job.held_after?.loss, 4))],
                  ['Right, before', of.map(job => job.held_before ? `${(100 * job.held_before.accuracy).toFixed(1)} %` : '\u2013')],
                  ['Right, now', of.map(job => job.held_after ? `${(100 * job.held_after.accuracy).toFixed(1)} %` : '\u2013')], ...differences(of)];
    const table = el('table', {}, el('thead', {}, el('tr', {}, el('td'), ...of.map(job => el('th', { scope: 'col' }, el('span', { class: `swatch s${drawn.get(job.id)}` }), nameOf(job))))),
                     el('tbody', {}, ...rows.map(([name, values]) => el('tr', {}, el('th', { scope: 'row', text: name }), ...values.map(text => el('td', { text }))))));
    const old = byId('train-beside').querySelector('table');
    if (old && old.textContent === table.textContent && old.querySelectorAll('th').length === table.querySelectorAll('th').length) return;
    byId('train-beside').replaceChildren(el('div', { class: 'wide card', tabindex: '0', role: 'group', 'aria-label': 'runs side by side' }, table));
}

/* ---- each ---- */

/** @param {api.Job} job @param {string} mark at the end of its id @param {string} name */
async function save(job, mark, name) {
    const file = job.result_files.find(id => id.endsWith(mark));
    if (!file) throw new Error(`${job.id} has no ${name}`);
    const address = URL.createObjectURL(await api.content(file));
    el('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** @param {api.Job} job */
function buttons(job) {
    const act = (/** @type {() => Promise<void>} */ what) => () => around.attempt(what);
    const change = (/** @type {'pause' | 'resume' | 'cancel'} */ how, /** @type {string} */ text) =>
        button(text, act(async () => { await api.change(job.id, how); await refresh(); }), { 'aria-label': `${text} ${nameOf(job)}` });
    const name = job.fine_tuned_model, is_open = opened.has(job.id);
    const all = [button(is_open ? 'Close' : 'Report', () => open(job), { class: 'plain', 'aria-expanded': String(is_open), 'aria-label': `${is_open ? 'close the report' : 'report'} of ${nameOf(job)}` })];
    if (name) all.push(button('Talk with it', () => around.talk(name), { class: 'plain' }), button('Compare with its base', () => around.talk(job.model, name), { class: 'plain' }));
    if (job.result_files.length) all.push(button('Save adapter', act(() => save(job, '-a', 'adapter.gguf'))), button('Save report', act(() => save(job, '-r', 'report.html'))));
    if (!isOver(job)) all.push(job.status === 'paused' ? change('resume', 'Go on') : change('pause', 'Pause'), change('cancel', 'Cancel'));
    return all;
}

/** @param {api.Job} job */
function open(job) {
    if (opened.has(job.id)) opened.delete(job.id);
    else opened.set(job.id, new RunView());
    draw();
    cards.get(job.id)?.element.querySelector('button')?.focus();
}

/** @param {number} seconds */
function time(seconds) {
    return seconds < 90 ? `${Math.ceil(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** How long its steps take, as far as any were measured. @param {api.Job} job */
function timeOf(job) {
    if (isOver(job)) return '';
    if (job.estimated_finish) return `about ${time(Math.max(0, job.estimated_finish - Date.now() / 1000))} left`;
    if (job.estimated_seconds === null) return 'its time is known after its first step';
    return `its steps take about ${time(job.estimated_seconds)}${job.status === 'running' ? '' : ' once it runs'}`;
}

/** What one that is asked about would take. @param {api.Job} job */
export function costOf(job) {
    const by = jobs.find(each => each.id === job.estimated_by);
    const lasts = job.estimated_seconds === null ? 'How long it takes is known after its first step: no run of yours with this model is here to tell.'
        : `Its steps take about ${time(job.estimated_seconds)}, by those of ${by ? nameOf(by) : job.estimated_by}.`;
    return `${job.examples} examples, ${job.steps} steps, ${(job.memory_bytes / 1e9).toFixed(2)} GB of memory. ${lasts}`;
}

/** @param {api.Job} job */
function facts(job) {
    const held = job.held_before && job.held_after ? `held out ${job.held_before.loss.toFixed(3)} before, ${job.held_after.loss.toFixed(3)} now` : '';
    return [`step ${job.step} of ${job.steps}`, job.loss === null ? '' : `loss ${job.loss.toFixed(4)}`, held,
            timeOf(job)].filter(Boolean).join(', ');
}

/** @param {api.Job} job */
function card(job) {
    const colour = drawn.get(job.id), box = el('input', { type: 'checkbox', 'aria-label': `draw ${nameOf(job)}`, title: 'in the drawing', disabled: colour === undefined && drawn.size >= MOST, onchange: () => {
        pick(job.id, box.checked);
        draw();
        cards.get(job.id)?.element.querySelector('input')?.focus();
    } });
    box.checked = colour !== undefined;
    return el('li', { class: 'card run' },
              el('div', { class: 'row' }, box, colour !== undefined ? el('span', { class: `swatch s${colour}` }) : null, el('h3', { text: nameOf(job) }), el('span', { class: `state ${job.status === 'running' ? 'ready' : ''}`, text: job.status })),
              isOver(job) ? null : el('progress', { max: job.steps || 1, value: job.step, 'aria-label': `steps of ${nameOf(job)}` }),
              el('p', { class: 'faint', text: facts(job) }), job.waits_for ? el('p', { class: 'faint', text: `waits for ${job.waits_for}` }) : null,
              job.verdict ? el('p', { text: job.verdict }) : null, job.error ? el('p', { class: 'alarm', text: job.error.message }) : null,
              el('div', { class: 'row acts' }, ...buttons(job)), opened.get(job.id)?.element || null);
}

/** A card that says what it said before stays: who is on its buttons stays there. */
function drawCards() {
    const all = jobs.map(job => {
        const key = JSON.stringify([{ ...job, estimated_finish: timeOf(job), estimated_seconds: null }, drawn.get(job.id), drawn.size >= MOST, opened.has(job.id)]);
        const old = cards.get(job.id), known = followed.get(job.id);
        opened.get(job.id)?.show(job, known ? [...known.events.values()].sort((a, b) => b.created_at - a.created_at) : [], known?.lines || []);
        if (old?.key === key) return old.element;
        const active = old?.element.contains(document.activeElement) ? document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent : null;
        const made = card(job);
        cards.set(job.id, { key, element: made });
        if (old && active) {
            old.element.replaceWith(made);
            /** @type {HTMLElement | undefined} */ ([...made.querySelectorAll('button, input')].find(b => (b.getAttribute('aria-label') || b.textContent) === active))?.focus();
        }
        return made;
    });
    const place = byId('train-jobs');
    if (all.length !== place.children.length || all.some((element, i) => place.children[i] !== element)) place.replaceChildren(...all);
}

function draw() {
    byId('train-runs').hidden = !jobs.length;
    if (!jobs.length) return;
    drawChart();
    drawCards();
}

/** Asks how all of them are, and again while some go. */
export async function refresh() {
    clearTimeout(timer);
    const were_going = new Set(jobs.filter(job => !isOver(job)).map(job => job.id));
    jobs = await api.jobs();
    offer();
    for (const job of jobs)
        if (drawn.has(job.id) || opened.has(job.id)) await look(job);
    draw();
    for (const job of jobs)
        if (were_going.has(job.id) && isOver(job)) announce(`${nameOf(job)}: ${job.status}`);
    if (jobs.some(job => !isOver(job)) && !byId('train').hidden) timer = setTimeout(() => refresh().catch(around.tell), AGAIN_MS);
}

/** @param {typeof around} with_what */
export function make(with_what) {
    around = with_what;
    new ResizeObserver(() => { if (jobs.length && byId('train-chart').clientWidth) drawChart(); }).observe(byId('train-chart'));
}
