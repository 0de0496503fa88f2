/** message.js: one message on the page. It shows what it is told to, and says what its buttons are pressed for. */

import { button, copy, el } from './dom.js';
import { codeBlock, Sheet } from './markdown.js';
import { tokenView } from './tokens.js';

/** @typedef {import('./tree.js').Message} Message */
/** @typedef {{again: (m: Message) => void, edit: (m: Message, text: string) => void, step: (m: Message, by: number) => void, take: (m: Message) => void,
 *             seed: (seed: number) => void, stop: () => void}} Acts */

/** Templates whose thoughts the server does not tell apart have them in front, between these. @param {Message} m @returns {[string, string]} thoughts and answer */
function partsOf(m) {
    if (m.reasoning) return [m.reasoning, m.content];
    const begun = /^\s*<think>/.exec(m.content);
    if (!begun) return ['', m.content];
    const end = m.content.indexOf('</think>');
    return end < 0 ? [m.content.slice(begun[0].length), ''] : [m.content.slice(begun[0].length, end), m.content.slice(end + 8)];
}

export class MessageView {
    /** @param {Message} message @param {Acts} acts @param {{at: number, of: number}} turn @param {'alone' | 'taken' | 'beside'} place */
    constructor(message, acts, turn, place) {
        this.message = message;
        this.acts = acts;
        this.turn = turn;
        this.place = place;
        this.is_running = false;
        this.is_by_token = false;
        this.sheet = new Sheet();
        this.thoughts = new Sheet();
        this.folded = el('details', { class: 'thoughts', hidden: true }, el('summary', {}, 'Thoughts'), this.thoughts.element);
        this.calls = el('div');
        this.tokens = el('div', { hidden: true });
        this.alarm = el('p', { class: 'alarm', role: 'alert', hidden: true });
        this.foot = el('div', { class: 'foot' });
        const is_user = message.role === 'user';
        this.element = el('article', { class: `message ${message.role} ${place}`, 'aria-label': is_user ? 'You' : message.model || 'answer' },
                          el('h2', { class: is_user ? 'unseen' : 'who', text: is_user ? 'You' : message.model || 'answer' }),
                          this.attachments(), this.folded, this.sheet.element, this.calls, this.tokens, this.alarm, this.foot);
        this.show();
        this.showFoot();
    }

    attachments() {
        const all = this.message.attachments || [];
        return all.length ? el('div', { class: 'attached' }, ...all.map(f => el('details', {}, el('summary', {}, `${f.name} (${f.text.length.toLocaleString('en')} characters)`),
                                                                                codeBlock(f.text, 'text')))) : null;
    }

    /** The text as it is now. */
    show() {
        const m = this.message, [thoughts, content] = m.role === 'user' ? ['', m.content] : partsOf(m);
        if (m.role === 'user') this.sheet.element.replaceChildren(el('p', { class: 'as-is', text: content }));
        else this.sheet.show(content);
        this.folded.hidden = !thoughts;
        if (thoughts) this.thoughts.show(thoughts);
        this.calls.replaceChildren(...(m.calls || []).map(c => el('div', { class: 'call' }, el('p', {}, 'calls ', el('code', { text: c.name })), codeBlock(c.args, 'arguments'))));
        this.alarm.hidden = !m.error;
        this.alarm.textContent = m.error || '';
        this.element.classList.toggle('running', this.is_running);
        this.element.setAttribute('aria-busy', String(this.is_running));
    }

    /** @param {boolean} is_running */
    run(is_running) {
        this.is_running = is_running;
        this.show();
        this.showFoot();
    }

    showFoot() {
        const m = this.message, act = this.acts;
        const facts = [m.seed !== undefined ? button(`seed ${m.seed}`, () => act.seed(/** @type {number} */ (m.seed)), { title: 'use this seed from now on' }) : null,
                       m.usage ? el('span', { text: `${m.usage.completion_tokens} tokens${m.seconds ? `, ${(m.usage.completion_tokens / m.seconds).toFixed(1)}/s` : ''}` }) : null,
                       m.finish && m.finish !== 'stop' ? el('span', { class: 'end', text: { length: 'cut off: as long as was asked for', stopped: 'stopped', tool_calls: 'calls a tool' }[m.finish] || m.finish }) : null];
        const shown = m.role === 'user' ? [] : facts;
        this.foot.replaceChildren(...[this.arrows(), ...(this.is_running ? [button('Stop', act.stop)] : this.buttons()), ...shown].filter(x => x !== null));
    }

    arrows() {
        const { at, of } = this.turn, m = this.message;
        if (of < 2) return null;
        return el('span', { class: 'arrows', role: 'group', 'aria-label': 'other versions' },
                  button('\u2039', () => this.acts.step(m, -1), { 'aria-label': 'the version before', disabled: at === 0 }),
                  el('span', { text: `${at + 1}/${of}`, 'aria-label': `version ${at + 1} of ${of}` }),
                  button('\u203a', () => this.acts.step(m, 1), { 'aria-label': 'the next version', disabled: at === of - 1 }));
    }

    buttons() {
        const m = this.message, act = this.acts;
        /** @type {HTMLElement[]} */
        const all = [];
        if (this.place !== 'alone') all.push(button(this.place === 'taken' ? 'Goes on from here' : 'Go on from here', () => act.take(m), { 'aria-pressed': String(this.place === 'taken') }));
        if (m.role === 'assistant') all.push(button('Again', () => act.again(m), { title: 'another answer, with another seed' }));
        const to_copy = button('Copy', () => copy(m.content, to_copy));
        all.push(to_copy, button('Edit', () => this.edit(), { title: m.role === 'user' ? 'ask otherwise: a branch beside this one' : 'a branch with other words' }));
        if (m.tokens?.length) all.push(button('Tokens', () => this.byToken(), { 'aria-pressed': String(this.is_by_token), title: 'how likely each token was' }));
        return all;
    }

    byToken() {
        this.is_by_token = !this.is_by_token;
        this.tokens.hidden = !this.is_by_token;
        this.sheet.element.hidden = this.folded.hidden = this.is_by_token;
        if (this.is_by_token) this.tokens.replaceChildren(tokenView(this.message.tokens || []));
        this.show();
        if (this.is_by_token) this.folded.hidden = true;
        this.showFoot();
        [...this.foot.querySelectorAll('button')].find(b => b.textContent === 'Tokens')?.focus();
    }

    edit() {
        const m = this.message, field = el('textarea', { 'aria-label': 'the message', rows: Math.min(14, m.content.split('\n').length + 1) });
        field.value = m.content;
        const done = () => { form.replaceWith(this.sheet.element); this.foot.hidden = false; };
        const send = () => { done(); this.acts.edit(m, field.value); };
        field.addEventListener('keydown', e => {
            if (e.key === 'Escape') { done(); e.stopPropagation(); }
            if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) send();
        });
        const form = el('div', { class: 'editing' }, field, el('div', { class: 'row end' }, button('Cancel', done, { class: 'plain' }),
                        button(m.role === 'user' ? 'Ask this' : 'Keep this', send, { class: 'main' })));
        this.sheet.element.replaceWith(form);
        this.foot.hidden = true;
        field.focus();
    }
}
