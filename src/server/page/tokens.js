/** tokens.js: an answer token by token: how likely each was, and what else might have stood there. */

import { el } from './dom.js';

/** @typedef {import('./api.js').Token} Token */

/** @param {number} logprob */
export function percent(logprob) {
    const p = 100 * Math.exp(logprob);
    return p >= 99.95 ? '100 %' : p >= 1 ? `${p.toFixed(1)} %` : p >= 0.001 ? `${p.toFixed(3)} %` : `${p.toExponential(1)} %`;
}

/** @param {number} logprob */
function classOf(logprob) {
    const p = Math.exp(logprob);
    return p >= 0.9 ? 'p5' : p >= 0.6 ? 'p4' : p >= 0.3 ? 'p3' : p >= 0.1 ? 'p2' : 'p1';
}

/** @param {string} text what has no ink, by signs */
export function visible(text) {
    return text.replace(/ /g, '\u00b7').replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5') || '(nothing)';
}

/** @param {Token} token */
function card(token) {
    const rows = token.others.some(([text]) => text === token.text) ? token.others : [...token.others, /** @type {[string, number]} */ ([token.text, token.logprob])];
    return el('div', {}, el('p', {}, el('code', { text: visible(token.text) }), ` ${percent(token.logprob)}`),
              el('ol', { class: 'others' }, ...rows.map(([text, logprob]) => {
                  const bar = el('meter', { min: 0, max: 1, 'aria-hidden': 'true' });
                  bar.value = Math.exp(logprob);
                  return el('li', { class: text === token.text ? 'taken' : null }, el('code', { text: visible(text) }), bar, el('span', { text: percent(logprob) }));
              })));
}

/**
 * The text of tokens; the one that is pointed at, or that arrows lead to, is told of below.
 * @param {Token[]} tokens
 * @returns {HTMLElement}
 */
export function tokenView(tokens) {
    const told = el('div', { class: 'told', role: 'status' }, el('p', { text: 'Point at a token, or press the arrow keys here.' }));
    const spans = tokens.map((token, i) => {
        const span = el('span', { class: `token ${classOf(token.logprob)}`, onmouseenter: () => show(i), onclick: () => show(i) });
        span.textContent = token.text;
        return span;
    });
    let at = -1;
    /** @param {number} i */
    function show(i) {
        if (i < 0 || i >= tokens.length) return;
        if (at >= 0) spans[at].classList.remove('here');
        at = i;
        spans[at].classList.add('here');
        told.replaceChildren(card(tokens[at]));
    }
    const text = el('div', { class: 'tokens', tabindex: 0, role: 'group', 'aria-label': 'tokens: arrow keys go from one to the next', onkeydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key === 'ArrowRight' || e.key === 'ArrowLeft') {
            show(Math.max(0, at + (e.key === 'ArrowRight' ? 1 : -1)));
            e.preventDefault();
        }
    } }, ...spans);
    return el('div', { class: 'by-token' }, text, told);
}
