/** main.js: the page around the conversation: models, list, keys, shortcuts. */

import * as api from './api.js';
import * as chat from './chat.js';
import { announce, ask, button, byId, el } from './dom.js';
import * as files from './files.js';
import * as models from './models.js';
import * as settings from './settings.js';
import * as store from './store.js';
import * as train from './train.js';
import * as tree from './tree.js';

/** @type {string[]} */
let names = [];
/** @type {tree.Attachment[]} */
let attached = [];
let is_asking_key = false;

/* ---- models ---- */

async function refresh() {
    try {
        names = (await api.models()).map(model => model.id);
        fill(byId('model'), 'hone-model', 0);
        fill(byId('other'), 'hone-other', 1);
        if (!byId('models').hidden) await models.show(names);
        if (!byId('train').hidden) await train.show(names);
        chat.tell('');
    } catch (error) {
        if (error instanceof api.Refused && error.status === 401) await askKey();
        else chat.tell(`The server does not answer: ${error instanceof Error ? error.message : error}`);
    }
}

/** @param {HTMLSelectElement} select @param {string} kept @param {number} otherwise */
function fill(select, kept, otherwise) {
    const wanted = select.value || localStorage.getItem(kept) || '';
    select.replaceChildren(...names.map(name => el('option', { value: name }, name)));
    select.value = names.includes(wanted) ? wanted : names[Math.min(otherwise, names.length - 1)] || '';
}

function asksTwo() {
    return byId('compare').getAttribute('aria-pressed') === 'true';
}

function asked() {
    return asksTwo() ? [byId('model').value, byId('other').value] : [byId('model').value];
}

/** @param {boolean} is_two */
function compare(is_two) {
    byId('compare').setAttribute('aria-pressed', String(is_two));
    byId('other').hidden = !is_two;
}

/** To the chat, with a model, or beside another. @param {string} model @param {string} [other] */
async function talk(model, other) {
    await refresh();
    byId('model').value = model;
    if (other) byId('other').value = other;
    compare(other !== undefined);
    turn('chat');
    byId('question').focus();
}

async function askKey() {
    if (is_asking_key) return;
    is_asking_key = true;
    const key = await ask({ title: 'A key of this server', ok: 'Go on', field: 'password',
                            note: 'It is kept until this tab is closed, and sent to this server alone.' });
    is_asking_key = false;
    byId('forget').hidden = !key && !api.hasKey();
    if (!key) {
        chat.tell('The server takes a key: the menu below the list of conversations asks for it again.');
        byId('forget').hidden = false;
        return;
    }
    api.setKey(key);
    await refresh();
}

/* ---- the list ---- */

function drawList() {
    byId('list').replaceChildren(...store.all().map(each => {
        const is_open = each.id === chat.current().id;
        return el('li', { class: is_open ? 'open' : null },
                  el('button', { type: 'button', class: 'name', 'aria-current': is_open ? 'page' : null, onclick: () => { chat.show(each); drawList(); drawer(false); turn('chat'); } }, each.title),
                  button('\u270e', () => rename(each), { 'aria-label': `rename ${each.title}`, title: 'rename' }),
                  button('\u2913', () => files.save([each], each.title), { 'aria-label': `save ${each.title} as a file`, title: 'save as a file' }),
                  button('\u2715', () => remove(each), { 'aria-label': `delete ${each.title}`, title: 'delete' }));
    }));
}

/** @param {tree.Conversation} each */
async function rename(each) {
    const title = await ask({ title: 'Rename the conversation', value: each.title, ok: 'Rename' });
    if (!title?.trim()) return;
    each.title = title.trim();
    each.is_named = true;
    await store.put(each, false);
    drawList();
    if (each.id === chat.current().id) byId('title').textContent = each.title;
}

/** @param {tree.Conversation} each */
async function remove(each) {
    if (await ask({ title: 'Delete the conversation?', note: `\u201c${each.title}\u201d goes from this browser for good.`, ok: 'Delete', field: null }) === null) return;
    chat.stop(each);
    await store.remove(each.id);
    if (each.id === chat.current().id) chat.show(tree.newConversation());
    drawList();
    announce('deleted');
}

function begin() {
    chat.show(tree.newConversation());
    drawList();
    drawer(false);
    turn('chat');
    byId('question').focus();
}

/** @param {FileList | null} chosen */
async function bringIn(chosen) {
    for (const file of chosen || []) {
        try {
            const read = await files.load(file);
            for (const each of read) await store.put(each, false);
            if (read.length) chat.show(read[0]);
            announce(`${read.length} conversations were read`);
        } catch (error) {
            chat.tell(error instanceof SyntaxError ? `${file.name}: no JSON (${error.message})` : `${error instanceof Error ? error.message : error}`);
        }
    }
    drawList();
}

/* ---- the question ---- */

function send() {
    const field = byId('question');
    if (!chat.send(field.value, attached)) return;
    field.value = '';
    attached = [];
    drawAttached();
    fit();
}

function fit() {
    const field = byId('question');
    field.style.height = 'auto';
    field.style.height = `${Math.min(field.scrollHeight + 2, 260)}px`;
}

function drawAttached() {
    byId('attached').replaceChildren(...attached.map(file => el('li', {}, file.name,
        button('\u2715', () => { attached = attached.filter(f => f !== file); drawAttached(); }, { 'aria-label': `without ${file.name}` }))));
}

/** @param {Iterable<File>} chosen */
async function attach(chosen) {
    for (const file of chosen) {
        try {
            attached.push(await files.readText(file));
            announce(`${file.name} is attached`);
        } catch (error) {
            chat.tell(`${error instanceof Error ? error.message : error}`);
        }
    }
    drawAttached();
}

/* ---- around it ---- */

const VIEWS = /** @type {const} */ (['chat', 'models', 'train']);

/** @param {'chat' | 'models' | 'train'} to */
function turn(to) {
    for (const name of VIEWS) {
        byId(name).hidden = name !== to;
        byId(`tab-${name}`).setAttribute('aria-selected', String(name === to));
        byId(`tab-${name}`).tabIndex = name === to ? 0 : -1;
    }
    if (to !== 'chat') refresh();
}

/** @param {boolean} is_open */
function drawer(is_open) {
    document.body.classList.toggle('drawn', is_open);
    byId('menu').setAttribute('aria-expanded', String(is_open));
}

/** @param {string} theme */
function paint(theme) {
    if (theme === 'auto') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.setAttribute('data-theme', theme);
    localStorage.setItem('hone-theme', theme);
    byId('theme').value = theme;
}

/** @param {KeyboardEvent} e */
function onKey(e) {
    const is_writing = e.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName), is_command = e.ctrlKey || e.metaKey;
    if (document.querySelector('dialog[open]')) return;
    if (e.key === 'Escape') {
        if (chat.isRunning()) chat.stop();
        else drawer(false);
    } else if (is_command && e.shiftKey && e.key.toLowerCase() === 'o') {
        begin();
    } else if (is_command && e.key === ',') {
        byId('settings').showModal();
    } else if (is_writing || is_command || e.altKey) {
        return;
    } else if (e.key === '?') {
        byId('keys').showModal();
    } else if (e.key === '/') {
        turn('chat');
        byId('question').focus();
    } else if (e.key === 'r') {
        chat.again();
    } else if (e.key === 'c') {
        compare(!asksTwo());
    } else {
        return;
    }
    e.preventDefault();
}

function listen() {
    /** @type {Record<string, () => void>} */
    const pressed = {
        new: begin, send, stop: () => chat.stop(), menu: () => drawer(!document.body.classList.contains('drawn')), veil: () => drawer(false),
        'open-settings': () => byId('settings').showModal(), 'open-keys': () => byId('keys').showModal(), clear: settings.clear,
        compare: () => compare(!asksTwo()), 'tab-chat': () => turn('chat'), 'tab-models': () => turn('models'), 'tab-train': () => turn('train'),
        attach: () => byId('files').click(), import: () => byId('import-file').click(),
        export: () => files.save(store.all(), 'hone conversations'), refresh,
        forget: () => { api.setKey(''); askKey(); },
    };
    for (const [id, act] of Object.entries(pressed)) byId(id).addEventListener('click', act);
    byId('theme').addEventListener('change', () => paint(byId('theme').value));
    byId('model').addEventListener('change', () => localStorage.setItem('hone-model', byId('model').value));
    byId('other').addEventListener('change', () => localStorage.setItem('hone-other', byId('other').value));
    byId('tabs').addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => {
        if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
        const at = VIEWS.findIndex(name => !byId(name).hidden);
        const to = VIEWS[(at + (e.key === 'ArrowRight' ? 1 : VIEWS.length - 1)) % VIEWS.length];
        turn(to);
        byId(`tab-${to}`).focus();
    });
    byId('files').addEventListener('change', () => { attach([...byId('files').files]); byId('files').value = ''; });
    byId('import-file').addEventListener('change', async () => { await bringIn(byId('import-file').files); byId('import-file').value = ''; });
    document.addEventListener('keydown', onKey);
    listenToQuestion();
}

function listenToQuestion() {
    const field = byId('question');
    field.addEventListener('input', fit);
    field.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => {
        if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
        e.preventDefault();
        send();
    });
    field.addEventListener('paste', (/** @type {ClipboardEvent} */ e) => {
        if (!e.clipboardData?.files.length) return;
        e.preventDefault();
        attach([...e.clipboardData.files]);
    });
    document.addEventListener('dragover', e => {
        e.preventDefault();
        document.body.classList.toggle('dragged', e.dataTransfer?.types.includes('Files') || false);
    });
    document.addEventListener('dragleave', e => { if (!e.relatedTarget) document.body.classList.remove('dragged'); });
    document.addEventListener('drop', e => {
        e.preventDefault();
        document.body.classList.remove('dragged');
        if (!e.dataTransfer?.files.length) return;
        if (byId('train').hidden) attach([...e.dataTransfer.files]);
        else train.take([...e.dataTransfer.files]);
    });
}

paint(localStorage.getItem('hone-theme') || 'auto');
settings.make();
chat.make({ changed: drawList, models: asked, refused: status => { if (status === 401) askKey(); } });
train.make(talk);
models.make(talk);
compare(false);
listen();
const trouble = await store.open();
chat.show(tree.newConversation());
drawList();
byId('forget').hidden = !api.hasKey();
await refresh();
if (trouble) chat.tell(trouble);
byId('question').focus();
document.documentElement.dataset.ready = 'yes';
