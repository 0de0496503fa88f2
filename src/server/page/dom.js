/** dom.js: elements. Text becomes text nodes here and nowhere anything else: no string of anybody's is ever read as HTML. */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element. `class`, `text` and attributes by name; `on...` are listeners; true is an attribute without a value.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [has]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, has = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(has)) {
        if (value === undefined || value === null || value === false) continue;
        if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
        else if (key === 'text') made.textContent = value;
        else made.setAttribute(key, value === true ? '' : String(value));
    }
    for (const child of children)
        if (child || child === '') made.append(child);
    return made;
}

/**
 * @param {string} id
 * @returns {any} the element of index.html that has it
 */
export function byId(id) {
    const found = document.getElementById(id);
    if (!found) throw new Error(`index.html has no #${id}`);
    return found;
}

/**
 * A button that says what it does.
 * @param {string} text
 * @param {() => void} act
 * @param {Record<string, any>} [has]
 */
export function button(text, act, has = {}) {
    return el('button', { type: 'button', class: 'quiet', onclick: act, ...has }, text);
}

/** What a reader of screens hears next. @param {string} text */
export function announce(text) {
    byId('said').textContent = text;
}

/**
 * Copies, and says so on the button. Where a page has no clipboard (an address that is not the machine's own, without TLS), by a selection.
 * @param {string} text
 * @param {HTMLElement} from
 */
export async function copy(text, from) {
    const before = from.textContent;
    let is_done = false;
    try {
        await navigator.clipboard.writeText(text);
        is_done = true;
    } catch {
        const field = el('textarea', { class: 'unseen', 'aria-hidden': 'true' });
        field.value = text;
        document.body.append(field);
        field.select();
        is_done = document.execCommand('copy');
        field.remove();
    }
    from.textContent = is_done ? 'copied' : 'the browser refuses';
    announce(is_done ? 'copied' : 'the browser refuses to copy');
    setTimeout(() => { from.textContent = before; }, 1500);
}

/**
 * A question in a dialog: resolves to what was entered, or null.
 * @param {{title: string, note?: string, value?: string, ok: string, field?: 'text' | 'password' | null}} of
 * @returns {Promise<string | null>}
 */
export function ask(of) {
    return new Promise(resolve => {
        const has_field = of.field !== null;
        const input = el('input', { type: of.field || 'text', 'aria-label': of.title, autocomplete: 'off' });
        input.value = of.value || '';
        const form = el('form', { method: 'dialog' }, el('h2', { id: 'asked', text: of.title }), of.note ? el('p', { text: of.note }) : null,
                        has_field ? input : null,
                        el('div', { class: 'row end' }, button('Cancel', () => dialog.close(), { class: 'plain' }),
                           el('button', { value: 'ok', class: 'main' }, of.ok)));
        const dialog = el('dialog', { class: 'small', 'aria-labelledby': 'asked' }, form);
        dialog.addEventListener('close', () => {
            dialog.remove();
            resolve(dialog.returnValue === 'ok' ? input.value : null);
        });
        document.body.append(dialog);
        dialog.showModal();
        if (has_field) input.select();
    });
}
