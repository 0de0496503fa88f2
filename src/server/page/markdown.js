/** markdown.js: what a model writes, as elements. Only those that are made here can come of it, with no attribute that it writes:
 *  its words are text nodes, and where a link leads is text beside it. Nothing that it says is fetched, and nothing runs. */

import { copy, el } from './dom.js';
import { math } from './math.js';

/** How deep things may stand in one another; what is deeper is plain text. */
const DEEPEST = 8;

/** @typedef {{raw: string, build: () => Node}} Block */

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:\s+(.*)|)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const DIVIDER = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const MATH_BEGIN = /^\s*(\$\$|\\\[)/;

/** @param {string} line */
function indentOf(line) {
    return line.length - line.trimStart().length;
}

/** Whether a line ends a paragraph that goes on. @param {string} line @param {string | undefined} next */
function beginsBlock(line, next) {
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || MATH_BEGIN.test(line) || isTable(line, next) ||
           /^ {0,3}([-*+]|1[.)])\s+\S/.test(line);
}

/** @param {string} line @param {string | undefined} next */
function isTable(line, next) {
    return line.includes('|') && next !== undefined && next.includes('-') && next.length < 2000 && DIVIDER.test(next) && cellsOf(line).length === cellsOf(next).length;
}

/** @param {string} line @returns {string[]} */
function cellsOf(line) {
    const cells = [''];
    const row = line.trim().replace(/^\|/, '').replace(/\|$/, '');
    let in_code = false;
    for (let i = 0; i < row.length; i++) {
        if (row[i] === '`') in_code = !in_code;
        if (row[i] === '\\' && row[i + 1] === '|') cells[cells.length - 1] += row[++i];
        else if (row[i] === '|' && !in_code) cells.push('');
        else cells[cells.length - 1] += row[i];
    }
    return cells.map(cell => cell.trim());
}

/**
 * The blocks of a text, in their order.
 * @param {string} text
 * @param {number} [depth]
 * @returns {Block[]}
 */
export function blocksOf(text, depth = 0) {
    const lines = text.replace(/\r\n?/g, '\n').split('\n');
    /** @type {Block[]} */
    const out = [];
    for (let i = 0; i < lines.length;) {
        if (lines[i].trim() === '') {
            i++;
            continue;
        }
        const [n, build] = takeBlock(lines, i, depth);
        out.push({ raw: lines.slice(i, i + n).join('\n') + (i + n < lines.length ? '\n' : ''), build });
        i += n;
    }
    return out;
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[number, () => Node]} how many lines it takes */
function takeBlock(lines, at, depth) {
    const line = lines[at];
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) return takeFence(lines, at);
    if (heading) return [1, () => filled(el(/** @type {'h3'} */ (`h${Math.min(6, heading[1].length + 2)}`)), heading[2] || '')];
    if (RULE.test(line)) return [1, () => el('hr')];
    if (MATH_BEGIN.test(line)) {
        const taken = takeMath(lines, at);
        if (taken) return taken;
    }
    if (depth < DEEPEST && QUOTE.test(line)) return takeQuote(lines, at, depth);
    if (depth < DEEPEST && ITEM.test(line)) return takeList(lines, at, depth);
    if (isTable(line, lines[at + 1])) return takeTable(lines, at);
    return takeParagraph(lines, at);
}

/** @param {string[]} lines @param {number} at @returns {[number, () => Node]} */
function takeFence(lines, at) {
    const [, indent, marks, info] = /** @type {RegExpExecArray} */ (FENCE.exec(lines[at]));
    let end = at + 1;
    const closes = (/** @type {string} */ line) => {
        const t = line.trim();
        return t.length >= marks.length && t === marks[0].repeat(t.length) && indentOf(line) < 4;
    };
    while (end < lines.length && !closes(lines[end])) end++;
    const code = lines.slice(at + 1, end).map(line => line.slice(Math.min(indent.length, indentOf(line)))).join('\n');
    return [Math.min(end + 1, lines.length) - at, () => codeBlock(code, info.trim().split(/\s/)[0])];
}

/** @param {string} code @param {string} language */
export function codeBlock(code, language) {
    const button = el('button', { type: 'button', class: 'quiet', onclick: () => copy(code, button) }, 'copy');
    return el('figure', { class: 'code' }, el('figcaption', {}, el('span', { text: language.slice(0, 40) || 'text' }), button),
              el('pre', { tabindex: 0, 'aria-label': 'code' }, el('code', { text: code })));
}

/** @param {string[]} lines @param {number} at @returns {[number, () => Node] | null} null: it does not end */
function takeMath(lines, at) {
    const begin = lines[at].trimStart().slice(0, 2), close = begin === '$$' ? '$$' : '\\]';
    let text = lines[at].trimStart().slice(2), n = 1;
    while (!text.includes(close)) {
        if (at + n >= lines.length || n > 200) return null;
        text += '\n' + lines[at + n++];
    }
    const end = text.indexOf(close);
    if (text.slice(end + 2).trim() !== '') return null;
    return [n, () => el('div', { class: 'math', tabindex: 0 }, math(text.slice(0, end), true))];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[number, () => Node]} */
function takeQuote(lines, at, depth) {
    /** @type {string[]} */
    const inner = [];
    let i = at;
    for (; i < lines.length && lines[i].trim() !== ''; i++) {
        const quoted = QUOTE.exec(lines[i]);
        if (!quoted && beginsBlock(lines[i], lines[i + 1])) break;
        inner.push(quoted ? quoted[1] : lines[i]);
    }
    return [i - at, () => el('blockquote', {}, fragment(inner.join('\n'), depth + 1))];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[number, () => Node]} */
function takeList(lines, at, depth) {
    const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
    const is_ordered = /\d/.test(first[2]), kind = first[2].slice(-1);
    /** @type {string[][]} */
    const items = [];
    let i = at, inside = 0, is_loose = false;
    for (; i < lines.length; i++) {
        const item = ITEM.exec(lines[i]);
        if (lines[i].trim() === '') {
            const next = lines[i + 1];
            if (next === undefined || next.trim() === '' || (indentOf(next) < inside && !(ITEM.exec(next)?.[2].slice(-1) === kind))) break;
            items[items.length - 1].push('');
            is_loose = true;
        } else if (items.length && indentOf(lines[i]) >= inside) {
            items[items.length - 1].push(lines[i].slice(inside));
        } else if (item && item[2].slice(-1) === kind && !RULE.test(lines[i])) {
            inside = item[1].length + item[2].length + 1;
            items.push([item[3] || '']);
        } else if (beginsBlock(lines[i], lines[i + 1]) || lines[i - 1].trim() === '') {
            break;
        } else {
            items[items.length - 1].push(lines[i].trimStart());
        }
    }
    const list = () => {
        const made = is_ordered ? el('ol', { start: parseInt(first[2], 10) }) : el('ul');
        for (const item of items) made.append(listItem(item.join('\n'), depth, is_loose));
        return made;
    };
    return [i - at, list];
}

/** @param {string} text @param {number} depth @param {boolean} is_loose */
function listItem(text, depth, is_loose) {
    const task = /^\[([ xX])\]\s+/.exec(text);
    const made = el('li');
    if (task) made.append(el('span', { class: 'task', role: 'img', 'aria-label': task[1] === ' ' ? 'to do' : 'done', text: task[1] === ' ' ? '\u2610 ' : '\u2611 ' }));
    for (const block of blocksOf(task ? text.slice(task[0].length) : text, depth + 1)) {
        const node = block.build();
        if (!is_loose && node instanceof HTMLParagraphElement) made.append(...node.childNodes);
        else made.append(node);
    }
    return made;
}

/** @param {string[]} lines @param {number} at @returns {[number, () => Node]} */
function takeTable(lines, at) {
    const sides = cellsOf(lines[at + 1]).map(c => (c.endsWith(':') ? (c.startsWith(':') ? 'middle' : 'right') : undefined));
    let end = at + 2;
    while (end < lines.length && lines[end].includes('|') && lines[end].trim() !== '') end++;
    /** @param {string} line @param {'th' | 'td'} kind */
    const row = (line, kind) => {
        const cells = cellsOf(line);
        return el('tr', {}, ...sides.map((side, i) => filled(el(kind, { class: side, scope: kind === 'th' ? 'col' : null }), cells[i] || '')));
    };
    const table = () => el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'table' },
                           el('table', {}, el('thead', {}, row(lines[at], 'th')), el('tbody', {}, ...lines.slice(at + 2, end).map(l => row(l, 'td')))));
    return [end - at, table];
}

/** @param {string[]} lines @param {number} at @returns {[number, () => Node]} */
function takeParagraph(lines, at) {
    let end = at + 1;
    while (end < lines.length && lines[end].trim() !== '' && !beginsBlock(lines[end], lines[end + 1])) end++;
    const text = lines.slice(at, end).map(line => line.trimStart()).join('\n');
    return [end - at, () => filled(el('p'), text.trimEnd())];
}

/** @param {string} text @param {number} depth */
function fragment(text, depth) {
    const out = document.createDocumentFragment();
    for (const block of blocksOf(text, depth)) out.append(block.build());
    return out;
}

/* ---- within a line ---- */

/** @template {HTMLElement} E @param {E} to @param {string} text @returns {E} */
function filled(to, text) {
    inline(to, text, 0);
    return to;
}

/** Where a mark that was looked for in vain is not looked for again. @typedef {Set<string>} Missing */

/** @param {HTMLElement} to @param {string} text @param {number} depth */
function inline(to, text, depth) {
    const missing = new Set();
    let plain = 0, i = 0;
    while (i < text.length) {
        const taken = depth < DEEPEST ? takeInline(text, i, depth, missing) : null;
        if (!taken) {
            i++;
            continue;
        }
        to.append(text.slice(plain, i), taken[1]);
        i = plain = i + taken[0];
    }
    to.append(text.slice(plain));
}

/** @param {string} text @param {number} at @param {number} depth @param {Missing} missing @returns {[number, Node | string] | null} */
function takeInline(text, at, depth, missing) {
    switch (text[at]) {
    case '\\':
        if (text[at + 1] === '(') return takeBetween(text, at, '\\(', '\\)', missing);
        if (/[!-/:-@[-`{-~]/.test(text[at + 1] || '')) return [2, text[at + 1]];
        return text[at + 1] === '\n' ? [2, el('br')] : null;
    case ' ':
        return text.startsWith('  \n', at) ? [3, el('br')] : null;
    case '`':
        return takeCode(text, at, missing);
    case '*':
    case '_':
        return takeEmphasis(text, at, depth, missing);
    case '~':
        return text[at + 1] === '~' ? takeMarked(text, at, '~~', depth, missing) : null;
    case '$':
        return takeDollar(text, at, missing);
    case '!':
        return text[at + 1] === '[' ? takeLink(text, at + 1, depth, true) : null;
    case '[':
        return takeLink(text, at, depth, false);
    default:
        return null;
    }
}

/** @param {string} text @param {number} at @param {Missing} missing @returns {[number, Node] | null} */
function takeCode(text, at, missing) {
    let n = 1;
    while (text[at + n] === '`') n++;
    const mark = '`'.repeat(n);
    if ((at > 0 && text[at - 1] === '`') || missing.has(mark)) return null;
    for (let end = text.indexOf(mark, at + n); end >= 0;) {
        let m = n;
        while (text[end + m] === '`') m++;
        if (m === n) return [end + n - at, el('code', { text: text.slice(at + n, end).replace(/\n/g, ' ').replace(/^ (.*\S.*) $/, '$1') })];
        end = text.indexOf(mark, end + m);
    }
    missing.add(mark);
    return null;
}

/** @param {string} text @param {number} at @param {number} depth @param {Missing} missing @returns {[number, Node] | null} */
function takeEmphasis(text, at, depth, missing) {
    const mark = text[at];
    if (mark === '_' && /[\p{L}\p{N}]/u.test(text[at - 1] || '')) return null;
    for (const n of [3, 2, 1])
        if (text.startsWith(mark.repeat(n), at) && text[at + n] !== mark) return takeMarked(text, at, mark.repeat(n), depth, missing);
    return null;
}

/** @param {string} text @param {number} at @param {string} mark @param {number} depth @param {Missing} missing @returns {[number, Node] | null} */
function takeMarked(text, at, mark, depth, missing) {
    const n = mark.length;
    if (missing.has(mark) || /^\s?$/.test(text[at + n] || '')) return null;
    for (let end = text.indexOf(mark, at + n); end >= 0;) {
        let m = 0;
        while (text[end + m] === mark[0]) m++;
        const is_word = mark[0] === '_' && /[\p{L}\p{N}]/u.test(text[end + m] || '');
        if ((m === n || (m === 3 && n < 3)) && !is_word && !/\s/.test(text[end - 1])) {
            const last = m === 3 && n < 3 ? end + 3 - n : end; /* **a *b*** ends inside out */
            return [last + n - at, marked(text.slice(at + n, last), n, mark[0], depth)];
        }
        end = text.indexOf(mark, end + Math.max(m, 1));
    }
    missing.add(mark);
    return null;
}

/** @param {string} text @param {number} n @param {string} mark @param {number} depth */
function marked(text, n, mark, depth) {
    const outer = mark === '~' ? el('s') : n === 1 ? el('em') : el('strong');
    const inner = n === 3 ? el('em') : outer;
    inline(inner, text, depth + 1);
    if (inner !== outer) outer.append(inner);
    return outer;
}

/** @param {string} text @param {number} at @param {string} begin @param {string} end @param {Missing} missing @returns {[number, Node] | null} */
function takeBetween(text, at, begin, end, missing) {
    const to = missing.has(end) ? -1 : text.indexOf(end, at + begin.length);
    if (to < 0) {
        missing.add(end);
        return null;
    }
    return [to + end.length - at, el('span', { class: 'math' }, math(text.slice(at + begin.length, to), false))];
}

/** A price is no formula: $ stands at a formula's own edges, and no digit follows. @param {string} text @param {number} at @param {Missing} missing @returns {[number, Node] | null} */
function takeDollar(text, at, missing) {
    if (text[at + 1] === '$') return takeBetween(text, at, '$$', '$$', missing);
    if (/^\s?$/.test(text[at + 1] || '') || missing.has('$')) return null;
    const end = text.indexOf('$', at + 1);
    if (end < 0) missing.add('$');
    if (end < 0 || /\s/.test(text[end - 1]) || /\d/.test(text[end + 1] || '') || text.slice(at, end).includes('\n')) return null;
    return [end + 1 - at, el('span', { class: 'math' }, math(text.slice(at + 1, end), false))];
}

/** [text](target): the text, and the target as text. @param {string} text @param {number} at of [ @param {number} depth @param {boolean} is_image @returns {[number, Node] | null} */
function takeLink(text, at, depth, is_image) {
    let open = 1, end = at + 1;
    for (; end < text.length && end < at + 1000 && open > 0; end++) {
        if (text[end] === '\\') end++;
        else if (text[end] === '[') open++;
        else if (text[end] === ']') open--;
    }
    if (open > 0 || text[end] !== '(') return null;
    const target = /^\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(text.slice(end, end + 2100));
    if (!target) return null;
    const words = el('span', { class: 'words' });
    inline(words, text.slice(at + 1, end - 1), depth + 1);
    return [end + target[0].length - at + (is_image ? 1 : 0), link(words, target[1], is_image)];
}

/** @param {HTMLElement} words @param {string} target @param {boolean} is_image */
function link(words, target, is_image) {
    const made = el('span', { class: is_image ? 'link picture' : 'link' }, is_image ? 'picture: ' : '', words);
    if (/^https?:\/\/[^\s]+$/i.test(target) && target !== words.textContent) made.append(' ', el('span', { class: 'target', text: `<${target}>` }));
    else if (target !== words.textContent && target) made.append(' ', el('span', { class: 'target refused', text: `(${target})` }));
    return made;
}

/* ---- while it is written ---- */

/** Shows a text that grows: blocks that have not changed stay as they are, with what is selected in them. */
export class Sheet {
    constructor() {
        this.element = el('div', { class: 'sheet' });
        /** @type {{raw: string, node: Node}[]} */
        this.shown = [];
    }

    /** @param {string} text */
    show(text) {
        const blocks = blocksOf(text);
        let same = 0;
        while (same < blocks.length && same < this.shown.length && blocks[same].raw === this.shown[same].raw) same++;
        for (const { node } of this.shown.splice(same)) this.element.removeChild(node);
        for (const block of blocks.slice(same)) {
            const node = block.build();
            this.shown.push({ raw: block.raw, node });
            this.element.append(node);
        }
    }
}
