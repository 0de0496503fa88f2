/** run.js: inside one run: what it answered as it learned, who of its experts worked, its certificate, how it was told to be trained. */

import * as api from './api.js';
import { el } from './dom.js';
import { svg } from './chart.js';

const CHECKS = /** @type {Record<string, string>} */ ({ gradient: 'no gradient is zero', along: 'derivatives are differences of the loss', signs: 'so is each direction by itself',
    plans: 'bits do not hang on the plan', recompute: 'nor on what is computed again', 'micro-batches': 'nor on micro-batches', threads: 'nor on threads', levels: 'nor on the instructions' });

/** @param {string} title @param {...(Node | null)} children */
function part(title, ...children) {
    return el('section', { class: 'part' }, el('h4', { text: title }), ...children);
}

/* ---- samples ---- */

/** Answers that follow each other and are the same are one. @param {{step: number, answer: string}[]} all */
function turnsOf(all) {
    /** @type {{from: number, to: number, answer: string}[]} */
    const out = [];
    for (const { step, answer } of all) {
        const last = out[out.length - 1];
        if (last && last.answer === answer) last.to = step;
        else out.push({ from: step, to: step, answer });
    }
    return out;
}

/** @param {{from: number, to: number, answer: string}} turn */
function drawTurn(turn) {
    const when = turn.from === 0 ? (turn.to === 0 ? 'before' : `before, to step ${turn.to}`) : turn.from === turn.to ? `step ${turn.from}` : `steps ${turn.from} to ${turn.to}`;
    return el('li', {}, el('span', { class: 'when', text: when }), el('span', { class: 'said', text: turn.answer || '(nothing)' }));
}

/** @param {api.Line[]} lines @returns {HTMLElement | null} */
function samples(lines) {
    const rounds = lines.filter(line => line.samples?.length), first = rounds[0]?.samples;
    if (!first) return null;
    return part('Samples', ...first.map((sample, i) => {
        const turns = turnsOf(rounds.map(round => ({ step: round.step, answer: round.samples?.[i]?.answer ?? '' })));
        const between = turns.slice(1, -1);
        return el('div', { class: 'sample' }, el('p', { class: 'prompt', tabindex: '0', role: 'group', 'aria-label': `prompt ${i + 1}`, text: sample.prompt }),
                  el('p', { class: 'wanted' }, el('span', { class: 'when', text: 'wanted' }), el('span', { class: 'said', text: sample.expected })),
                  el('ol', {}, drawTurn(turns[0])),
                  between.length ? el('details', {}, el('summary', { text: `${between.length} other answers on the way` }), el('ol', {}, ...between.map(drawTurn))) : null,
                  turns.length > 1 ? el('ol', { class: 'now' }, drawTurn(turns[turns.length - 1])) : null);
    }));
}

/* ---- experts ---- */

/** 1: each as many as the others; 0: one has all. @param {number[]} tokens */
function evenness(tokens) {
    const sum = tokens.reduce((a, b) => a + b, 0);
    if (!sum || tokens.length < 2) return 0;
    return -tokens.reduce((h, n) => h + (n > 0 ? n / sum * Math.log(n / sum) : 0), 0) / Math.log(tokens.length);
}

/** A cell an expert: the fuller, the more of the layer's tokens it got. @param {api.Load} load */
function strip(load) {
    const n = load.tokens.length, most = Math.max(1, ...load.tokens);
    return svg('svg', { viewBox: `0 0 ${n} 1`, preserveAspectRatio: 'none', 'aria-hidden': 'true', class: 'strip' },
               ...load.tokens.map((t, i) => svg('rect', { x: i, y: 0, width: .92, height: 1, 'fill-opacity': (.06 + .94 * t / most).toFixed(3) },
                                                svg('title', {}, `expert ${i}: ${t} tokens`))));
}

/** @param {api.Load} load */
function loadRow(load) {
    const sum = load.tokens.reduce((a, b) => a + b, 0), most = Math.max(...load.tokens), idle = load.tokens.filter(t => t === 0).length;
    return el('tr', {}, el('th', { scope: 'row', text: String(load.layer) }), el('td', { class: 'load' }, strip(load)), el('td', { class: 'right', text: `${(100 * evenness(load.tokens)).toFixed(0)} %` }),
              el('td', { class: 'right', text: sum ? `${load.tokens.indexOf(most)}: ${(100 * most / sum).toFixed(0)} %` : '\u2013' }), el('td', { class: 'right', text: String(idle) }));
}

/** @param {api.Line[]} lines @param {{step: number | null}} at which round; null: the last @param {() => void} changed @returns {HTMLElement | null} */
function experts(lines, at, changed) {
    const looks = lines.filter(line => line.experts?.length);
    if (!looks.length) return null;
    const found = looks.findIndex(look => look.step === at.step), i = found < 0 ? looks.length - 1 : found, look = looks[i];
    const slider = el('input', { type: 'range', min: 0, max: looks.length - 1, step: 1, 'aria-label': 'of which step', 'aria-valuetext': `step ${look.step}`, oninput: () => {
        const to = Number(slider.value);
        at.step = to === looks.length - 1 ? null : looks[to].step;
        changed();
    } });
    slider.value = String(i);
    return part('Load of the experts', el('div', { class: 'row' }, looks.length > 1 ? slider : null, el('span', { class: 'faint', text: `tokens of step ${look.step}, by expert` })),
                el('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'load of the experts' }, el('table', { class: 'loads' },
                    el('thead', {}, el('tr', {}, ...['Layer', 'Experts', 'Even', 'Busiest', 'Idle'].map((name, k) => el('th', { scope: 'col', class: k > 1 ? 'right' : null, text: name })))),
                    el('tbody', {}, ...(look.experts || []).map(loadRow)))));
}

/* ---- certificate ---- */

/** @param {any} proof of certificate.json, or what is told of it @returns {HTMLElement} */
export function certificate(proof) {
    /** @type {Map<string, {made: number, failed: number}>} */
    const by = new Map();
    for (const row of Array.isArray(proof.rows) ? proof.rows : []) {
        const sum = by.get(String(row.check)) || { made: 0, failed: 0 };
        by.set(String(row.check), { made: sum.made + Number(row.made), failed: sum.failed + Number(row.failed) });
    }
    const verdict = `${Number(proof.checks).toLocaleString('en')} checks, ${Number(proof.failed) ? `${Number(proof.failed)} failed` : 'all hold'}${Number(proof.skipped) ? `, ${Number(proof.skipped)} skipped` : ''}`;
    return part('Certificate', el('details', {}, el('summary', {}, el('b', { class: Number(proof.failed) ? 'alarm' : null, text: verdict })), proof.subject ? el('p', { class: 'faint', text: String(proof.subject) }) : null,
                el('dl', { class: 'facts' }, ...[...by].flatMap(([check, sum]) => [el('dt', { text: CHECKS[check] || check }), el('dd', { text: sum.failed ? `${sum.failed} of ${sum.made} fail` : String(sum.made) })])),
                el('p', { class: 'faint', text: `on ${String(proof.cpu)}, by hone ${String(proof.build)}, seed ${Number(proof.seed)}` })));
}

/* ---- all of it ---- */

/** @param {api.Job} job */
function told(job) {
    const facts = [['Learned by', job.method.type], ['Examples', job.examples.toLocaleString('en')], ['Memory', `${(job.memory_bytes / 1e9).toFixed(2)} GB`],
                   ...(job.trained_tokens ? [['Tokens trained', job.trained_tokens.toLocaleString('en')]] : []), ...(job.settings || []).map(word => {
        const n = word.indexOf('=');
        return n < 0 ? [word, 'yes'] : [word.slice(0, n), word.slice(n + 1)];
    })];
    return part('How it is trained', el('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [el('dt', { text: name }), el('dd', { text: value })])),
                job.sha256 ? el('p', { class: 'faint hash' }, 'sha256 ', el('code', { text: job.sha256 })) : null,
                el('p', { class: 'faint', text: 'hone train with these, the same file and the same model gives the same file, to the bit.' }));
}

/** @param {api.Event[]} events the latest first */
function happened(events) {
    const notes = events.filter(event => event.type === 'message');
    return notes.length ? part('What happened', el('ol', { class: 'notes', tabindex: '0', 'aria-label': 'what happened, the latest first' }, ...notes.map(note => el('li', { class: note.level === 'info' ? null : 'alarm' },
        el('time', { datetime: new Date(note.created_at * 1000).toISOString(), text: new Date(note.created_at * 1000).toLocaleTimeString() }), ` ${note.message}`)))) : null;
}

export class RunView {
    constructor() {
        this.element = el('div', { class: 'inside' });
        this.at = { step: /** @type {number | null} */ (null) };
        /** @type {HTMLElement | null} */
        this.proof = null;
        this.asked = false;
    }

    /** @param {api.Job} job @param {api.Event[]} events the latest first @param {api.Line[]} lines by step */
    show(job, events, lines) {
        const again = () => this.show(job, events, lines), active = document.activeElement;
        const has_focus = active instanceof HTMLInputElement && this.element.contains(active), is_open = [...this.element.querySelectorAll('details')].map(d => d.open);
        const file = job.result_files.find(id => id.endsWith('-c'));
        if (file && !this.asked) {
            this.asked = true;
            api.content(file).then(async blob => { this.proof = certificate(JSON.parse(await blob.text())); again(); }).catch(() => { this.asked = false; });
        }
        const parts = [samples(lines), experts(lines, this.at, again), this.proof, told(job), happened(events)];
        this.element.replaceChildren(...parts.filter(x => x !== null));
        [...this.element.querySelectorAll('details')].forEach((d, i) => { d.open = is_open[i] || false; });
        if (has_focus) this.element.querySelector('input')?.focus();
    }
}
