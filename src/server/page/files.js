/** files.js: what comes from the user's disk and goes there: texts beside a question, conversations as JSON. */

import { el } from './dom.js';
import { readConversation } from './tree.js';

const MOST_BYTES = 1 << 20, MOST_IMPORTED = 256 << 20;

/** @param {File} file @returns {Promise<import('./tree.js').Attachment>} */
export async function readText(file) {
    if (file.size > MOST_BYTES) throw new Error(`${file.name}: expected at most ${MOST_BYTES} bytes, found ${file.size}`);
    try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
        if (text.includes('\0')) throw new Error();
        return { name: file.name, text };
    } catch {
        throw new Error(`${file.name}: expected a text in UTF-8`);
    }
}

/** @param {import('./tree.js').Conversation[]} conversations @param {string} name */
export function save(conversations, name) {
    const text = JSON.stringify({ format: 'hone conversations', version: 1, conversations }, null, 1);
    const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = el('a', { href: address, download: `${name.replace(/[^\p{L}\p{N} _-]/gu, '').trim().slice(0, 60) || 'conversation'}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** @param {File} file @returns {Promise<import('./tree.js').Conversation[]>} */
export async function load(file) {
    if (file.size > MOST_IMPORTED) throw new Error(`${file.name}: expected at most ${MOST_IMPORTED} bytes, found ${file.size}`);
    const read = JSON.parse(await file.text());
    if (read?.format !== 'hone conversations' || read.version !== 1 || !Array.isArray(read.conversations))
        throw new Error(`${file.name}: expected conversations that this page has saved, of version 1`);
    return read.conversations.map((/** @type {any} */ each, /** @type {number} */ i) => readConversation(each, `${file.name}: conversations[${i}]`));
}
