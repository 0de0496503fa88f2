/** chat.js: the conversation that is open: shown, asked, stopped, branched. */

import * as api from './api.js';
import { announce, byId, el } from './dom.js';
import { MessageView } from './message.js';
import * as settings from './settings.js';
import * as store from './store.js';
import * as tree from './tree.js';

/** @typedef {import('./tree.js').Message} Message */
/** @typedef {import('./tree.js').Conversation} Conversation */

/** @type {Conversation} */
let open = tree.newConversation();
/** Answers that are being written, by their ids. @type {Map<string, {stop: AbortController, of: Conversation}>} */
const running = new Map();
/** @type {Map<string, MessageView>} */
const views = new Map();
/** @type {{changed: () => void, models: () => string[], refused: (status: number) => void}} */
let host;

/** @param {typeof host} with_ what the rest of the page does */
export function make(with_) {
    host = with_;
    byId('system').addEventListener('change', () => {
        open.system = byId('system').value;
        if (store.get(open.id)) keep(open);
    });
    const place = byId('scroll');
    place.addEventListener('scroll', () => { is_following = place.scrollHeight - place.scrollTop - place.clientHeight < 60; }, { passive: true });
    document.addEventListener('visibilitychange', () => { /* the last that a page is sure to hear: what is half written is kept */
        if (document.hidden) for (const r of running.values()) store.put(r.of).catch(() => {});
    });
}

export function current() {
    return open;
}

/** @param {Conversation} conversation */
export function show(conversation) {
    open = conversation;
    byId('system').value = open.system;
    draw();
    toEnd(true);
}

export function isRunning() {
    return [...running.values()].some(r => r.of === open);
}

/** Ends what is being written in the conversation that is open, or in this one. @param {Conversation} [of] */
export function stop(of = open) {
    for (const r of running.values())
        if (r.of === of) r.stop.abort();
}

/** @param {Conversation} of */
function keep(of) {
    store.put(of).catch(error => tell(`This conversation could not be kept: ${error.message}`));
    host.changed();
}

/** @param {string} text */
export function tell(text) {
    byId('notice').textContent = text;
    byId('notice').hidden = !text;
}

/* ---- what is shown ---- */

function draw() {
    const log = byId('log'), way = tree.wayOf(open);
    views.clear();
    log.replaceChildren(...way.map(drawTurn));
    byId('greeting').hidden = way.length > 0;
    byId('title').hidden = way.length === 0;
    byId('title').textContent = way.length ? open.title : '';
    byId('stop').hidden = !isRunning();
    byId('send').hidden = isRunning();
}

/** @param {Message} message */
function drawTurn(message) {
    const turns = tree.turnsOf(open, message), at = turns.findIndex(turn => turn.includes(message)), turn = turns[at];
    const shown = turn.map(m => {
        const view = new MessageView(m, acts, { at, of: turns.length }, turn.length < 2 ? 'alone' : m === message ? 'taken' : 'beside');
        if (running.has(m.id)) view.run(true);
        views.set(m.id, view);
        return view.element;
    });
    return shown.length < 2 ? shown[0] : el('div', { class: 'beside-another', role: 'group', 'aria-label': 'answers side by side' }, ...shown);
}

/** Whether the end is in sight, and is to stay so while an answer grows. */
let is_following = true;

/** Follows what is written, unless its reader has gone up. @param {boolean} [always] */
function toEnd(always = false) {
    const place = byId('scroll');
    if (always || is_following) place.scrollTop = place.scrollHeight;
    if (always) is_following = true;
}

/** @type {import('./message.js').Acts} */
const acts = {
    again: m => ask(m.parent, m.group ? tree.childrenOf(open, m.parent).filter(x => x.group === m.group).map(x => x.model || '') : [m.model || host.models()[0]], true),
    edit: (m, text) => {
        if (isRunning() || !text.trim()) return;
        const { parent, role, attachments, model } = m;
        const made = tree.add(open, { parent, role, content: text, attachments, model: role === 'assistant' ? model : undefined });
        keep(open);
        draw();
        if (role === 'user') ask(made.id, host.models(), false);
    },
    step: (m, by) => {
        const turns = tree.turnsOf(open, m), to = turns[turns.findIndex(turn => turn.includes(m)) + by];
        if (!to) return;
        tree.choose(open, to[0]);
        keep(open);
        draw();
    },
    take: m => {
        tree.choose(open, m);
        keep(open);
        draw();
    },
    seed: seed => {
        settings.setSeed(seed);
        announce(`seed ${seed} is set`);
        tell(`Seed ${seed} is set for the answers that come. The settings have it.`);
    },
    stop: () => stop(),
};

/* ---- asking ---- */

/** @param {string} text @param {import('./tree.js').Attachment[]} attachments @returns {boolean} whether it was taken */
export function send(text, attachments) {
    if (isRunning() || (!text.trim() && !attachments.length) || !settings.areWell()) return false;
    tell('');
    const way = tree.wayOf(open), last = way[way.length - 1];
    open.system = byId('system').value;
    const message = tree.add(open, { parent: last ? last.id : null, role: 'user', content: text, attachments: attachments.length ? attachments : undefined });
    keep(open);
    ask(message.id, host.models(), false);
    return true;
}

export function again() {
    const way = tree.wayOf(open), last = way[way.length - 1];
    if (!last) return;
    if (last.role === 'assistant') acts.again(last);
    else ask(last.id, host.models(), false);
}

/** One question to one model or several. @param {string | null} parent @param {string[]} models @param {boolean} is_again */
function ask(parent, models, is_again) {
    if (isRunning() || !settings.areWell()) return;
    const of = open, group = models.length > 1 ? tree.newId() : undefined;
    /** @type {Record<string, unknown>} */
    const body = { ...settings.asked(is_again), messages: tree.asked(of, parent) };
    if (models.length > 1 && body.seed === undefined) body.seed = tree.newSeed(); /* one for all: what differs is the models' */
    const answers = models.map(model => tree.add(of, { parent, role: 'assistant', content: '', model, group }));
    tree.choose(of, answers[0]);
    for (const answer of answers) running.set(answer.id, { stop: new AbortController(), of });
    announce(models.length > 1 ? 'answers begin' : 'the answer begins');
    draw();
    toEnd(true);
    for (const answer of answers) write(of, answer, body);
}

/** @param {Conversation} of @param {Message} answer @param {Record<string, unknown>} body */
async function write(of, answer, body) {
    const begun = performance.now(), run = running.get(answer.id);
    if (!run) return;
    try {
        for await (const piece of api.chat(answer.model ? { ...body, model: answer.model } : body, run.stop.signal)) {
            grow(answer, piece);
            redraw(answer);
        }
    } catch (error) {
        if (run.stop.signal.aborted) {
            answer.finish = 'stopped';
        } else {
            answer.error = error instanceof Error ? error.message : String(error);
            if (error instanceof api.Refused) host.refused(error.status);
        }
    }
    answer.seconds = (performance.now() - begun) / 1000;
    running.delete(answer.id);
    end(of, answer);
}

/** @param {Message} answer @param {import('./api.js').Piece} piece */
function grow(answer, piece) {
    answer.content += piece.content || '';
    if (piece.reasoning) answer.reasoning = (answer.reasoning || '') + piece.reasoning;
    if (piece.tokens?.length) (answer.tokens = answer.tokens || []).push(...piece.tokens);
    for (const c of piece.calls || []) {
        answer.calls = answer.calls || [];
        const call = (answer.calls[c.index] = answer.calls[c.index] || { name: '', args: '' });
        call.name += c.name || '';
        call.args += c.args || '';
    }
    if (piece.seed !== undefined) answer.seed = piece.seed;
    if (piece.model) answer.model = answer.model || piece.model;
    if (piece.finish) answer.finish = piece.finish;
    if (piece.usage) answer.usage = { prompt_tokens: piece.usage.prompt_tokens, completion_tokens: piece.usage.completion_tokens };
}

/** @type {Set<Message>} */
const grown = new Set();

/** Once a frame, however many tokens it brings. @param {Message} answer */
function redraw(answer) {
    if (!grown.size)
        requestAnimationFrame(() => {
            for (const each of grown) views.get(each.id)?.show();
            grown.clear();
            toEnd();
        });
    grown.add(answer);
}

/** @param {Conversation} of @param {Message} answer */
function end(of, answer) {
    if (store.get(of.id)) keep(of);
    views.get(answer.id)?.run(false);
    byId('stop').hidden = !isRunning();
    byId('send').hidden = isRunning();
    announce(answer.error ? `no answer: ${answer.error}` : `the answer ends, ${answer.usage?.completion_tokens ?? answer.tokens?.length ?? 0} tokens`);
    if (of === open) toEnd();
}
