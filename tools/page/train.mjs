// train.mjs: examples brought in, models trained of them, their reports, runs side by side, and what comes of it among the models.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, clean, drop, folder, hone, picture, say, serve, text } from './hands.mjs';

const act = (page, name, nth = 0) => page.evaluate((n, i) => { [...document.querySelectorAll('#train-jobs .run')[i].querySelectorAll('button')].find(b => b.textContent === n).click(); }, name, nth);
const succeeded = page => page.waitForFunction(() => /succeeded/.test(document.querySelector('#train-jobs .state').textContent), { timeout: 120000 });

// A report is there while it trains: its answers and the load of its experts grow with it.
async function checkLive(page) {
    await act(page, 'Report');
    await page.waitForSelector('.run .inside .sample', { timeout: 60000 });
    const rounds = () => page.evaluate(() => document.querySelector('.run .inside').textContent.match(/steps? \d+/g).join());
    check('samples while it trains', (await text(page, '.sample .prompt'))[0].includes('what is 0?') && (await text(page, '.sample .wanted .said'))[0].includes('it is <b>number</b> 0.'));
    await page.waitForSelector('.loads tbody tr', { timeout: 60000 });
    const first = await rounds();
    await page.waitForFunction(told => document.querySelector('.run .inside').textContent.match(/steps? \d+/g).join() !== told, { timeout: 60000 }, first);
    check('they are live', (await rounds()) !== first);
    check('the load of the experts', (await page.$$('.loads tbody tr')).length === 3 && (await page.$$('.loads tbody tr:first-child rect')).length > 1 && /\d+ %/.test((await text(page, '.loads tbody td'))[1]));
    await page.focus('.chart');
    await page.keyboard.press('ArrowLeft');
    check('what is at a step is told', /step \d+.*first \([0-9a-f]{8}\) \d/.test((await text(page, '.chart .at'))[0]), await text(page, '.chart .at'));
    check('and stays the place of the keyboard', await page.evaluate(() => document.activeElement.className === 'chart'));
    await clean(page, 'while it trains');
    await picture(page, 'train-live');
}

async function checkReport(page) {
    await page.waitForFunction(() => /all hold/.test(document.querySelector('.run .inside').textContent), { timeout: 10000 });
    const told = (await text(page, '.run .inside'))[0];
    check('a report has samples, experts, certificate, settings, hash and events', ['Samples', 'Load of the experts', 'Certificate', 'How it is trained', 'What happened', 'rank', 'it is served as first:page-'].every(word => told.includes(word)), told);
    check('its hash', /\b[0-9a-f]{64}\b/.test((await text(page, '.run .hash code'))[0]));
    const answers = await text(page, '.sample .said');
    check('before and after', (await text(page, '.sample li .when'))[0].startsWith('before') && answers.length >= 9, answers);
    await page.$eval('.loads', e => e.scrollIntoView());
    const looked = await text(page, '.inside .part .faint');
    await page.focus('.inside input[type="range"]');
    await page.keyboard.press('Home');
    const earlier = await text(page, '.inside .part .faint');
    check('the load of an earlier step', looked[0] !== earlier[0] && earlier[0].startsWith('tokens of step ') && await page.evaluate(() => document.activeElement.type === 'range'), [looked[0], earlier[0]]);
    for (const scheme of ['light', 'dark']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        for (const [name, width, height] of [['wide', 1280, 1900], ['phone', 390, 2600]]) {
            await page.setViewport({ width, height });
            await page.$eval('#train-runs', e => e.scrollIntoView());
            check(`report ${name}: nothing is wider than the screen`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.getElementById('train').scrollWidth <= innerWidth));
            await clean(page, `report ${scheme} ${name}`);
            await picture(page, `report-${scheme}-${name}`);
        }
        await page.setViewport({ width: 1280, height: 860 });
    }
    const saved = await page.evaluate(() => new Promise(resolve => {
        let body = '';
        URL.createObjectURL = blob => { blob.text().then(t => { body = t; }); return '#'; };
        HTMLAnchorElement.prototype.click = function () { setTimeout(() => resolve([this.download, body]), 200); };
        [...document.querySelectorAll('#train-jobs button')].find(b => b.textContent === 'Save report').click();
    }));
    check('the report as a file', saved[0] === 'report.html' && saved[1].startsWith('<!DOCTYPE html>') && !saved[1].includes(folder));
    await act(page, 'Close');
    check('it is closed', (await page.$$('.run .inside')).length === 0);
}

// Two runs on one drawing and in one table.
async function checkBeside(page) {
    const fill = (id, value) => page.$eval(id, (e, v) => { e.value = v; }, value);
    await fill('#train-name', 'other');
    await fill('#train-rank', '2');
    await fill('#train-rate', '3');
    await fill('#train-every', '10');
    await page.click('#train-estimate');
    await page.waitForFunction(() => / steps take about /.test(document.getElementById('train-estimated').textContent), { timeout: 10000 });
    check('how long it takes, by the run before', /GB of memory\. Its steps take about \d+ (s|min), by those of first:page-[0-9a-f]{8}\.$/.test((await text(page, '#train-estimated'))[0]), await text(page, '#train-estimated'));
    await picture(page, 'estimated');
    await page.click('#train-start');
    await page.waitForFunction(() => document.querySelectorAll('#train-jobs .run').length === 2);
    await succeeded(page);
    await page.waitForFunction(() => document.querySelectorAll('#train-chart .curve:not(.judged)').length === 2);
    const table = (await text(page, '#train-beside tr')).join('\n');
    check('two runs side by side', (await page.$$('#train-beside thead th')).length === 2 && table.includes('Held out, now') && /^rank2 ?4$/m.test(table) && /^eval-every10 ?usual$/m.test(table) && /^rate/m.test(table) && !/^seed/m.test(table), table);
    check('each in its colour', new Set(await page.$$eval('#train-jobs .swatch', all => all.map(e => e.className))).size === 2);
    check('evaluations are drawn', (await page.$$('#train-chart .dot')).length === 2 + 9 && (await page.$$('#train-chart .judged')).length === 1);
    for (const what of ['Right', 'Gradient', 'Rate', 'Loss']) {
        await page.evaluate(name => [...document.querySelectorAll('#train-what button')].find(b => b.textContent === name).click(), what);
        check(`${what} is drawn`, (await page.$$('#train-chart polyline')).length === (what === 'Loss' ? 3 : 2) && await page.evaluate(name => document.activeElement.textContent === name, what));
    }
    await page.hover('#train-chart svg');
    check('both at a step', (await text(page, '.chart .at b')).every(said => /^\d/.test(said)), await text(page, '.chart .at'));
    await page.mouse.move(2, 2);
    await clean(page, 'runs side by side');
    await page.$eval('#train-runs', e => e.scrollIntoView());
    await picture(page, 'runs');
    await page.click('#train-jobs .run:nth-child(2) input');
    check('one alone', (await page.$$('#train-chart .curve:not(.judged)')).length === 1 && (await page.$$('#train-beside table')).length === 0);
    await page.click('#train-jobs .run:nth-child(2) input');
    check('and both again', (await page.$$('#train-chart .curve:not(.judged)')).length === 2);
}

export async function checkTrain(page) {
    const chats = join(folder, 'chats.jsonl'), bad = join(folder, 'bad.jsonl');
    writeFileSync(chats, Array.from({ length: 30 }, (_, i) => JSON.stringify({ messages: [{ role: 'user', content: `what is ${i}?` }, { role: 'assistant', content: `it is <b>number</b> ${i}.` }] })).join('\n'));
    writeFileSync(bad, '{"messages": [');
    await page.click('#tab-train');
    const field = await page.$('#train-file');
    await field.uploadFile(bad);
    await page.waitForSelector('#train-said.alarm');
    check('a mistake is told with its place', (await text(page, '#train-said'))[0].includes('bad.jsonl: line 1, column 15'), await text(page, '#train-said'));
    await drop(page, 'chats.jsonl', readFileSync(chats, 'utf8'));
    await page.waitForSelector('#train-shown .learned');
    const learned = (await text(page, '#train-shown .learned')).join('');
    check('what is learned is coloured, as text', learned.includes('it is <b>number</b> 0.') && !learned.includes('what'), learned);
    await page.evaluate(() => [...document.querySelectorAll('#train-shown button')][1].click());
    await page.waitForFunction(() => document.getElementById('train-shown').textContent.includes('number</b> 1.'));
    await page.type('#train-name', 'page');
    await page.type('#train-epochs', '20');
    await page.type('#train-rank', '4');
    await page.select('#train-held', await page.$eval('#train-with', e => e.value));
    await page.click('#train-estimate');
    await page.waitForFunction(() => /30 examples, 7\d steps/.test(document.getElementById('train-estimated').textContent));
    check('nobody knows yet how long that takes', /GB of memory\. How long it takes is known after its first step/.test((await text(page, '#train-estimated'))[0]), await text(page, '#train-estimated'));
    await clean(page, 'before training');
    await page.click('#train-start');
    await page.waitForSelector('#train-chart .curve', { timeout: 60000 });
    const steps = async () => Number(/step (\d+) of/.exec((await text(page, '#train-jobs .faint'))[0])[1]);
    const before = await steps();
    await checkLive(page);
    await page.waitForFunction(n => Number(/step (\d+) of/.exec(document.querySelector('#train-jobs .faint').textContent)[1]) > n, { timeout: 60000 }, before);
    check('it is live', (await steps()) > before);
    check('how long yet, by its own steps', /about \d+ (s|min) left/.test((await text(page, '#train-jobs .faint'))[0]), await text(page, '#train-jobs .faint'));
    await succeeded(page);
    check('what came of it', (await text(page, '#train-jobs .card'))[0].includes('held out'));
    await checkReport(page);
    await checkBeside(page);
    for (const scheme of ['light', 'dark']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        for (const [name, width, height] of [['wide', 1280, 1100], ['phone', 390, 844]]) {
            await page.setViewport({ width, height });
            check(`train ${name}: nothing is wider than the screen`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            await clean(page, `train ${scheme} ${name}`);
            await picture(page, `train-${scheme}-${name}`);
        }
        await page.setViewport({ width: 1280, height: 860 });
    }
    await page.evaluate(() => [...document.querySelectorAll('#train-jobs button')].find(b => b.textContent === 'Compare with its base').click());
    await page.waitForFunction(() => !document.getElementById('chat').hidden && !document.getElementById('other').hidden);
    check('it is chosen beside its base', /^first:other-/.test(await page.$eval('#other', e => e.value)) && (await page.$eval('#model', e => e.value)) === 'first');
    await page.click('#new');
    await say(page, 'what is 3?');
    check('and answers there', (await page.$$('.beside-another .assistant')).length === 2);
    await page.click('#compare');
}

export async function checkModels(page) {
    await page.click('#tab-models');
    await page.waitForSelector('.adapter > summary');
    check('memory is told', /[\d.]+ [GM]B of memory/.test((await text(page, '#about'))[0]), await text(page, '#about'));
    check('context and files', /Context512 tokens/.test((await text(page, '#loaded .facts'))[0]) && /Files[\d.]+ MB/.test((await text(page, '#loaded .facts'))[0]), await text(page, '#loaded .facts'));
    const names = await text(page, '.adapter > summary');
    check('each adapter', names.length === 4 && names.filter(name => /-at-\d+$/.test(name)).length === 2, names);
    for (const i of [0, 1]) {
        await page.evaluate(n => document.querySelectorAll('.adapter > summary')[n].click(), i);
        await page.waitForFunction(n => /all hold/.test(document.querySelectorAll('.adapter')[n].textContent), { timeout: 10000 }, i).catch(async e => { throw new Error(`${e.message}: ${await text(page, '.adapter')}`); });
        const told = (await text(page, '.adapter'))[i];
        check('its contract and certificate', ['It holds: its test gives the bits', 'attn,experts, rank ', 'steps', 'f32', 'Certificate'].every(word => told.includes(word)), told);
    }
    await page.click('#refresh');
    await page.waitForFunction(() => document.querySelectorAll('.adapter[open] .facts').length >= 2);
    check('what is open stays so', true);
    await clean(page, 'contracts');
    await page.setViewport({ width: 1280, height: 1300 });
    await picture(page, 'contracts');
    await page.setViewport({ width: 1280, height: 860 });
    await page.evaluate(() => [...document.querySelectorAll('.adapter button')].find(b => b.textContent === 'Compare with its base').click());
    await page.waitForFunction(() => !document.getElementById('chat').hidden && document.getElementById('compare').getAttribute('aria-pressed') === 'true');
    check('an adapter beside its base', (await page.$eval('#model', e => e.value)) === 'first' && (await page.$eval('#other', e => e.value)).startsWith('first:'));
    await page.click('#compare');
}

// Adapters of the command line: the certificate beside one is shown, the one of another file is not, and why is said.
export async function checkBesideFiles(_, __, browser) {
    const data = join(folder, 'few.jsonl'), run = join(folder, 'proved'), moved = join(folder, 'moved');
    writeFileSync(data, [1, 2, 3].map(i => JSON.stringify({ prompt: `a ${i}`, completion: `b ${i}` })).join('\n'));
    const train = rank => spawnSync(hone, ['train', 'hone:tiny', '--data', data, '--out', run, '--steps', '2', '--rank', rank, '--samples', '0', '--prove', '--overwrite']).status;
    check('a run', train('2') === 0);
    mkdirSync(moved);
    copyFileSync(join(run, 'adapter.gguf'), join(moved, 'adapter.gguf'));
    check('and another', train('4') === 0);
    copyFileSync(join(run, 'certificate.json'), join(moved, 'certificate.json'));
    const { child, port } = await serve('hone:tiny', '--lora', `own=${join(run, 'adapter.gguf')}`, '--lora', `other=${join(moved, 'adapter.gguf')}`);
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 1300 });
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForSelector('#model option');
    await page.click('#tab-models');
    await page.waitForSelector('.adapter > summary');
    await page.evaluate(() => document.querySelectorAll('.adapter > summary').forEach(e => e.click()));
    await page.waitForFunction(() => [...document.querySelectorAll('.adapter .inside')].every(e => e.textContent.includes('SHA-256')), { timeout: 10000 });
    const [own, other] = await text(page, '.adapter');
    check('the certificate beside a file', /Certificate\d+ checks, all hold/.test(own) && own.includes('derivatives are differences of the loss') && !/undefined|null/.test(own), own);
    check('of another file none', !other.includes('checks, all hold') && /No certificate is shown: certificate\.json beside it is of another file: sha256 [0-9a-f]{64}\./.test(other), other);
    await clean(page, 'certificates beside files');
    await picture(page, 'beside-files');
    await page.close();
    child.kill();
}
