/** train.js: examples brought in and looked at, and models asked for that are trained of them. */

import * as api from './api.js';
import { announce, button, byId, el } from './dom.js';
import * as runs from './runs.js';

/** @type {api.Kept[]} */
let kept = [];

/** @param {unknown} error */
function tell(error) {
    const place = byId('train-said');
    place.textContent = error instanceof Error ? error.message : String(error);
    place.className = error instanceof Error ? 'alarm' : 'faint';
}

/** @param {() => Promise<void>} act what is refused is said */
async function attempt(act) {
    try {
        tell('');
        await act();
    } catch (error) {
        tell(error);
    }
}

/* ---- files ---- */

/** @param {api.Kept} file */
function about(file) {
    return `${file.filename}: ${file.examples} ${file.kind === 'pair' ? 'pairs' : 'examples'}`;
}

function drawFiles() {
    byId('train-files').replaceChildren(...kept.map(file => el('li', {}, el('span', { text: about(file) }),
        button('Look', () => attempt(() => look(file, 0)), { 'aria-label': `look at ${file.filename}` }),
        button('\u2715', () => attempt(async () => { await api.removeFile(file.id); await refresh(); }), { 'aria-label': `delete ${file.filename}`, title: 'delete' }))));
    choose(byId('train-with'), kept.map(file => [file.id, about(file)]));
    drawMethods();
    choose(byId('train-held'), [['', 'none'], ...kept.map(file => /** @type {[string, string]} */ ([file.id, about(file)]))]);
}

/** The file says which methods take it; the first is the usual one. */
function drawMethods() {
    const file = kept.find(each => each.id === byId('train-with').value);
    choose(byId('train-how'), (file?.methods ?? []).map(name => [name, name]));
}

/** @param {HTMLSelectElement} select @param {[string, string][]} of */
function choose(select, of) {
    const before = select.value;
    select.replaceChildren(...of.map(([value, text]) => el('option', { value }, text)));
    select.value = of.some(([value]) => value === before) ? before : of[0]?.[0] ?? '';
}

/** What is learned of an example is coloured, and said to readers of screens. @param {api.Kept} file @param {number} first */
async function look(file, first) {
    const found = await api.tokens(file.id, byId('train-model').value, first);
    const example = found.data[0];
    byId('train-shown').replaceChildren(...(example ? example.sequences : []).map(sequence => el('p', { class: 'tokens', tabindex: '0', role: 'group',
        'aria-label': `example ${first + 1}: what is learned is coloured` },
        ...sequence.map(t => el('span', { class: t.weight > 0 ? 'token learned' : 'token', title: `${t.role}${t.weight > 0 ? ', learned' : ''}`, text: t.text })))),
        el('div', { class: 'row' }, button('\u2190', () => attempt(() => look(file, first - 1)), { disabled: first === 0, 'aria-label': 'the example before' }),
           el('span', { class: 'faint', text: `line ${example?.line ?? '-'}` }),
           button('\u2192', () => attempt(() => look(file, first + 1)), { disabled: !found.has_more, 'aria-label': 'the next example' })));
}

/** A file is read with a model's words: whoever brings one sooner waits for the list of models. */
let modelsAreThere = () => {};
/** @type {Promise<void>} */
const models = new Promise(resolve => { modelsAreThere = resolve; });

/** @param {File[]} chosen */
export function take(chosen) {
    attempt(async () => {
        await models;
        for (const file of chosen) {
            announce(`${file.name} is read`);
            const found = await api.sendFile(file, byId('train-model').value);
            await refresh();
            byId('train-with').value = found.id;
            drawMethods();
            await look(found, 0);
            announce(`${about(found)}, all well`);
        }
    });
}

/* ---- asking ---- */

/** @param {string} id @returns {number | 'auto'} */
function number(id) {
    return byId(id).value === '' ? 'auto' : byId(id).valueAsNumber;
}

/** @param {boolean} is_dry */
function order(is_dry) {
    for (const id of ['train-name', 'train-epochs', 'train-batch', 'train-rate', 'train-every', 'train-rank'])
        if (!byId(id).reportValidity()) return null;
    const file = kept.find(each => each.id === byId('train-with').value);
    if (!file) throw new Error('Bring in examples first.');
    const type = byId('train-how').value;
    return { model: byId('train-model').value, training_file: file.id, validation_file: byId('train-held').value || undefined, dry_run: is_dry,
             suffix: byId('train-name').value || undefined, settings: [['rank', 'train-rank'], ['eval-every', 'train-every']].filter(([, id]) => byId(id).value).map(([name, id]) => `${name}=${byId(id).value}`),
             method: { type, [type]: { hyperparameters: { n_epochs: number('train-epochs'), batch_size: number('train-batch'),
                                                          learning_rate_multiplier: number('train-rate') } } } };
}

async function estimate() {
    const body = order(true);
    if (!body) return;
    const job = await api.train(body);
    byId('train-estimated').textContent = runs.costOf(job);
}

async function start() {
    const body = order(false);
    if (!body) return;
    await api.train(body);
    announce('it waits for its turn');
    await refresh();
}

async function refresh() {
    const files = await api.files();
    if (JSON.stringify(files) !== JSON.stringify(kept) || !byId('train-held').options.length) {
        kept = files;
        drawFiles();
    }
    await runs.refresh();
}

/** @param {string[]} names of /v1/models */
export async function show(names) {
    choose(byId('train-model'), names.filter(name => !name.includes(':')).map(name => [name, name]));
    modelsAreThere();
    await attempt(refresh);
}

/** @param {(model: string, other?: string) => void} talk */
export function make(talk) {
    runs.make({ talk, attempt, tell });
    byId('train-choose').addEventListener('click', () => byId('train-file').click());
    byId('train-file').addEventListener('change', () => { take([...byId('train-file').files]); byId('train-file').value = ''; });
    byId('train-with').addEventListener('change', drawMethods);
    byId('train-estimate').addEventListener('click', () => attempt(estimate));
    byId('train-start').addEventListener('click', () => attempt(start));
}
