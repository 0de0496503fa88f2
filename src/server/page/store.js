/** store.js: conversations in the browser's own storage, and nowhere else. Where it has none they live as long as the page. */

/** @typedef {import('./tree.js').Conversation} Conversation */

const STORE = 'conversations';

/** @type {IDBDatabase | null} */
let database = null;
/** @type {Map<string, Conversation>} */
const here = new Map();

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function done(request) {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
}

/** @returns {Promise<string | null>} why nothing is kept, or null */
export async function open() {
    try {
        const request = indexedDB.open('hone', 1);
        request.onupgradeneeded = () => { request.result.createObjectStore(STORE, { keyPath: 'id' }); };
        database = await done(request);
        for (const each of await done(database.transaction(STORE).objectStore(STORE).getAll())) here.set(each.id, each);
        return null;
    } catch (error) {
        database = null;
        return `This browser keeps nothing (${error instanceof Error ? error.message : error}): conversations end with the page.`;
    }
}

/** @returns {Conversation[]} the latest first */
export function all() {
    return [...here.values()].sort((a, b) => b.changed - a.changed);
}

/** @param {string} id */
export function get(id) {
    return here.get(id);
}

/** @param {Conversation} conversation @param {boolean} [is_touched] */
export async function put(conversation, is_touched = true) {
    if (is_touched) conversation.changed = Date.now();
    here.set(conversation.id, conversation);
    if (database) await done(database.transaction(STORE, 'readwrite').objectStore(STORE).put(conversation));
}

/** @param {string} id */
export async function remove(id) {
    here.delete(id);
    if (database) await done(database.transaction(STORE, 'readwrite').objectStore(STORE).delete(id));
}
