/** tree.js: a conversation as a tree of messages, of which one way from the root is read. Answers of a comparison share a `group`. */

/** @typedef {import('./api.js').Token} Token */
/** @typedef {{name: string, text: string}} Attachment */
/** @typedef {{id: string, parent: string | null, role: 'user' | 'assistant', content: string, at: number, reasoning?: string,
 *             calls?: {name: string, args: string}[], attachments?: Attachment[], model?: string, seed?: number, group?: string,
 *             finish?: string, error?: string, usage?: {prompt_tokens: number, completion_tokens: number}, tokens?: Token[], seconds?: number}} Message */
/** @typedef {{id: string, title: string, is_named?: boolean, created: number, changed: number, system: string,
 *             messages: Record<string, Message>, chosen: Record<string, string>}} Conversation */

const ROOT = '';

export function newId() {
    return [...crypto.getRandomValues(new Uint8Array(12))].map(byte => byte.toString(16).padStart(2, '0')).join('');
}

/** As large as a number of JavaScript holds, and the server draws. */
export function newSeed() {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    return (high & 0x1fffff) * 2 ** 32 + low;
}

/** @returns {Conversation} */
export function newConversation() {
    return { id: newId(), title: 'New conversation', created: Date.now(), changed: Date.now(), system: '', messages: {}, chosen: {} };
}

/** @param {Conversation} of @param {string | null} parent @returns {Message[]} in the order in which they were made */
export function childrenOf(of, parent) {
    return Object.values(of.messages).filter(m => m.parent === parent).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}

/** @param {Conversation} of @param {string | null} parent @returns {Message | null} */
export function chosenOf(of, parent) {
    const all = childrenOf(of, parent);
    return all.find(m => m.id === of.chosen[parent ?? ROOT]) || all[all.length - 1] || null;
}

/** @param {Conversation} of @param {Message} message */
export function choose(of, message) {
    of.chosen[message.parent ?? ROOT] = message.id;
}

/** @param {Conversation} of @returns {Message[]} what is read, from the first on */
export function wayOf(of) {
    const way = [];
    for (let m = chosenOf(of, null); m; m = chosenOf(of, m.id)) way.push(m);
    return way;
}

/** @param {Conversation} of @param {string | null} id @returns {Message[]} from the root to that message, itself too */
export function wayTo(of, id) {
    /** @type {Message[]} */
    const way = [];
    for (let at = id === null ? undefined : of.messages[id]; at; at = at.parent === null ? undefined : of.messages[at.parent]) way.unshift(at);
    return way;
}

/** Adds a message and chooses it. @param {Conversation} of @param {Omit<Message, 'id' | 'at'>} what @returns {Message} */
export function add(of, what) {
    const last = Math.max(0, ...Object.values(of.messages).map(m => m.at));
    const message = { id: newId(), at: Math.max(Date.now(), last + 1), ...what };
    of.messages[message.id] = message;
    choose(of, message);
    if (!of.is_named && Object.keys(of.messages).length === 1) of.title = titleOf(what.content) || of.title;
    return message;
}

/** @param {string} text */
function titleOf(text) {
    const line = text.trim().split('\n')[0];
    return line.length > 60 ? line.slice(0, 59) + '\u2026' : line;
}

/** Siblings by turns: answers of one comparison are one. @param {Conversation} of @param {Message} message @returns {Message[][]} */
export function turnsOf(of, message) {
    /** @type {Message[][]} */
    const turns = [];
    for (const m of childrenOf(of, message.parent)) {
        const same = m.group && turns.find(turn => turn[0].group === m.group);
        if (same) same.push(m);
        else turns.push([m]);
    }
    return turns;
}

/** Files go before what was written, each in a fence that nothing in it closes. @param {Message} message */
export function textOf(message) {
    const files = (message.attachments || []).map(file => {
        const runs = file.text.match(/`{3,}/g) || [];
        const fence = '`'.repeat(Math.max(3, ...runs.map(run => run.length + 1)));
        return `${file.name}:\n${fence}\n${file.text}${file.text.endsWith('\n') ? '' : '\n'}${fence}\n\n`;
    });
    return files.join('') + message.content;
}

/** What a model is asked. @param {Conversation} of @param {string | null} last */
export function asked(of, last) {
    const said = wayTo(of, last).map(m => ({ role: m.role, content: textOf(m) }));
    return of.system.trim() ? [{ role: 'system', content: of.system }, ...said] : said;
}

/* ---- from a file ---- */

/** @param {any} value @param {string} type @param {string} name */
function expect(value, type, name) {
    if (typeof value !== type || value === null) throw new Error(`${name}: expected a ${type}, found ${value === null ? 'null' : typeof value}`);
    return value;
}

/** @param {any} m @param {string} where @returns {Message} with what this page knows, and nothing else */
function readMessage(m, where) {
    expect(m, 'object', where);
    for (const list of ['calls', 'attachments', 'tokens'])
        if (m[list] !== undefined && !Array.isArray(m[list])) throw new Error(`${where}.${list}: expected an array, found ${typeof m[list]}`);
    if (m.role !== 'user' && m.role !== 'assistant') throw new Error(`${where}: expected a role of user or assistant, found ${JSON.stringify(m.role)}`);
    const out = /** @type {Message} */ ({ id: expect(m.id, 'string', `${where}.id`), parent: m.parent === null ? null : expect(m.parent, 'string', `${where}.parent`),
                                          role: m.role, content: expect(m.content, 'string', `${where}.content`), at: expect(m.at, 'number', `${where}.at`) });
    for (const key of /** @type {const} */ (['reasoning', 'model', 'group', 'finish', 'error']))
        if (m[key] !== undefined) out[key] = expect(m[key], 'string', `${where}.${key}`);
    for (const key of /** @type {const} */ (['seed', 'seconds']))
        if (m[key] !== undefined) out[key] = expect(m[key], 'number', `${where}.${key}`);
    if (m.calls) out.calls = [...m.calls].map(c => ({ name: String(c.name), args: String(c.args) }));
    if (m.attachments) out.attachments = [...m.attachments].map(f => ({ name: String(f.name), text: String(f.text) }));
    if (m.usage) out.usage = { prompt_tokens: Number(m.usage.prompt_tokens), completion_tokens: Number(m.usage.completion_tokens) };
    if (m.tokens) out.tokens = [...m.tokens].map(t => ({ text: String(t.text), logprob: Number(t.logprob), others: [...t.others].map(o => [String(o[0]), Number(o[1])]) }));
    return out;
}

/** @param {any} from @param {string} where @returns {Conversation} checked: every parent is there, no message is its own ancestor */
export function readConversation(from, where) {
    expect(from, 'object', where);
    const out = newConversation();
    out.title = expect(from.title, 'string', `${where}.title`);
    out.is_named = from.is_named === true;
    out.created = expect(from.created, 'number', `${where}.created`);
    out.changed = expect(from.changed, 'number', `${where}.changed`);
    out.system = expect(from.system, 'string', `${where}.system`);
    expect(from.messages, 'object', `${where}.messages`);
    const read = Object.values(from.messages).map((m, i) => readMessage(m, `${where}.messages[${i}]`)), ids = new Map(read.map(m => [m.id, newId()]));
    if (ids.size < read.length) throw new Error(`${where}: two messages have one id`);
    for (const m of read) {
        const parent = m.parent === null ? null : ids.get(m.parent);
        if (parent === undefined) throw new Error(`${where}: a message has the parent ${m.parent}, which is not there`);
        const id = /** @type {string} */ (ids.get(m.id));
        out.messages[id] = { ...m, id, parent };
    }
    for (const [parent, child] of Object.entries(from.chosen || {})) {
        const at = parent === ROOT ? ROOT : ids.get(parent), to = ids.get(String(child));
        if (at !== undefined && to) out.chosen[at] = to;
    }
    for (const m of Object.values(out.messages)) {
        let steps = 0;
        for (let at = m; at.parent !== null; at = out.messages[at.parent])
            if (++steps > read.length) throw new Error(`${where}: messages are in a circle`);
    }
    return out;
}
