// check.mjs HONE MODULES PICTURES: see check.sh. Between the browser and hone stands a proxy, which answers what no small model can be
// made to say: an endless answer, a hostile one, thoughts, a call of a tool, a connection that breaks.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkForeign } from './foreign.mjs';

const [hone, modules, pictures] = process.argv.slice(2);
const load = createRequire(join(modules, 'x.js'));
const { default: puppeteer } = await import(load.resolve('puppeteer-core'));
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
const hostile = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'hostile.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'hone-page-'));

let passed = 0, failed = 0;
function check(what, holds, found = '') {
    holds ? passed++ : (failed++, console.log(`FAILED: ${what} ${typeof found === 'string' ? found : JSON.stringify(found)}`));
}

function serve(...words) {
    const child = spawn(hone, ['serve', '--port', '0', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    return new Promise(resolve => child.stdout.once('data', line => resolve({ child, port: Number(/:(\d+)/.exec(String(line))[1]) })));
}

// ---- what no small model says ----

const MATRIX = 'A **matrix** is a table of numbers; here is how two are multiplied, in $O(n^3)$:\n\n```c\nfor (int i = 0; i < n; i++)\n    for (int j = 0; j < n; j++)\n        c[i][j] = dot(a, b, i, j);\n```\n\n' +
    '| format | bits | error |\n|---|--:|--:|\n| q8_0 | 8.5 | 0.003 |\n| q4_0 | 4.5 | 0.05 |\n\n1. The rows of the first\n2. The columns of the second\n\n> Both have to be of one length.\n\n$$\\sum_{i=1}^{n} a_i b_i = \\frac{x}{\\sqrt{2}}$$\n';

const lasting = new Set();

function event(to, delta, more = {}) {
    to.write(`data: ${JSON.stringify({ model: 'scripted', seed: 7, choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`);
}

function scripted(said, to) {
    to.writeHead(200, { 'Content-Type': 'text/event-stream' });
    if (said.includes('ENDLESS')) {
        let n = 0;
        const timer = setInterval(() => event(to, { content: `word${n++} ` }), 20);
        lasting.add(to);
        to.on('close', () => { clearInterval(timer); lasting.delete(to); });
        return;
    }
    if (said.includes('BROKEN')) {
        event(to, { content: 'half of' });
        setTimeout(() => to.destroy(), 100);
        return;
    }
    if (said.includes('TOOLS')) {
        event(to, { reasoning_content: 'It wants the *weather*.' });
        event(to, { tool_calls: [{ index: 0, id: 'a', function: { name: 'weather', arguments: '{"city":' } }] });
        event(to, { tool_calls: [{ index: 0, function: { arguments: '"<b>Bern</b>"}' } }] });
    } else {
        const text = said.includes('HOSTILE') ? hostile : said.includes('MATRIX') ? MATRIX : said;
        for (let i = 0; i < text.length; i += 7) event(to, { content: text.slice(i, i + 7) });
    }
    event(to, {}, { finish_reason: 'stop' });
    to.end('data: [DONE]\n\n');
}

function proxy(port) {
    return new Promise(resolve => {
        const server = http.createServer((from, to) => {
            const chunks = [];
            from.on('data', c => chunks.push(c)).on('end', () => {
                const body = Buffer.concat(chunks), is_json = /json/.test(from.headers['content-type'] || ''), said = from.method === 'POST' && is_json ? JSON.parse(body).messages?.at(-1).content || '' : '';
                if (/ENDLESS|BROKEN|TOOLS|HOSTILE|MATRIX|SHOW/.test(said)) return scripted(said, to);
                const headers = { ...from.headers, host: `127.0.0.1:${port}` };
                delete headers.origin;
                const on = http.request({ port, host: '127.0.0.1', path: from.url, method: from.method, headers }, reply => {
                    to.writeHead(reply.statusCode, reply.headers);
                    reply.pipe(to);
                });
                to.on('close', () => on.destroy());
                on.on('error', () => to.destroy());
                on.end(body);
            });
        });
        server.listen(0, '127.0.0.1', () => resolve(server));
    });
}

// ---- the browser ----

const outside = [], refused = [], broken = [];

async function newPage(browser, address) {
    const page = await browser.newPage();
    page.on('request', r => { if (!r.url().startsWith(address) && !/^(data|blob):/.test(r.url())) outside.push(r.url()); });
    page.on('console', m => { if (/Content Security Policy/.test(m.text())) refused.push(m.text()); });
    page.on('pageerror', e => broken.push(e.message));
    await page.goto(address);
    await page.waitForSelector('html[data-ready]');
    return page;
}

const text = (page, what) => page.$$eval(what, all => all.map(e => e.textContent));
const idle = page => page.waitForFunction(() => document.getElementById('stop').hidden, { timeout: 60000 });

async function say(page, words, is_waiting = true) {
    await page.click('#question');
    await page.keyboard.type(words);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.message');
    if (is_waiting) await idle(page);
}

const press = (page, name, nth = 0) => page.evaluate((n, i) => {
    [...document.querySelectorAll('.message button, #list button')].filter(b => b.textContent === n)[i].click();
}, name, nth);

async function clean(page, name) {
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await window.axe.run()).violations.map(v => `${v.id}: ${v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ')}`));
    check(`axe-core, ${name}`, found.length === 0, found);
}

async function checkChat(page) {
    await say(page, 'Who are you?');
    check('an answer streams', (await text(page, '.assistant > .sheet'))[0].length > 3);
    check('its seed is shown', /seed \d+/.test((await text(page, '.assistant .foot'))[0]));
    await press(page, 'Tokens');
    await page.hover('.token');
    check('a token tells its probability', /%/.test((await text(page, '.told'))[0]));
    await page.focus('.tokens');
    await page.keyboard.press('ArrowRight');
    check('and by the keyboard', (await page.$$('.token.here')).length === 1);
    await clean(page, 'tokens');
    await page.screenshot({ path: join(pictures, 'tokens.png') });
    await press(page, 'Again');
    await idle(page);
    check('another answer beside the first', (await text(page, '.arrows'))[0].includes('2/2'));
    await page.click('.arrows button');
    check('arrows go back', (await text(page, '.arrows'))[0].includes('1/2'));
    await press(page, 'Edit');
    await page.keyboard.type(' Say it again.');
    await page.click('.editing .main');
    await idle(page);
    check('an edit is a branch', (await text(page, '.user .arrows'))[0].includes('2/2'));
    check('with other words', (await text(page, '.user > .sheet'))[0] === 'Who are you? Say it again.');
    await page.click('.user .arrows button');
    check('a branch does not rename', (await text(page, '#list .name')).join() === 'Who are you?', await text(page, '#list .name'));
    check('the first branch is there', (await text(page, '.user > .sheet'))[0] === 'Who are you?' && (await text(page, '.assistant .arrows'))[0].includes('1/2'));
}

async function checkEnds(page) {
    await page.click('#new');
    await say(page, 'ENDLESS', false);
    await page.waitForFunction(() => /word9 /.test(document.querySelector('.assistant > .sheet')?.textContent || ''));
    await page.keyboard.press('Escape');
    await idle(page);
    await new Promise(resolve => setTimeout(resolve, 200));
    check('Esc stops', (await text(page, '.assistant .foot'))[0].includes('stopped'));
    check('and the server is left', lasting.size === 0);
    await page.click('#new');
    await say(page, 'BROKEN');
    check('a connection that breaks is told', (await text(page, '.assistant .alarm'))[0] !== '' && (await text(page, '.assistant > .sheet'))[0] === 'half of');
    await page.click('#new');
    await say(page, 'TOOLS');
    check('thoughts are folded', await page.$eval('.assistant .thoughts', d => !d.hidden && !d.open && d.textContent.includes('weather')));
    check('a call is shown', (await text(page, '.call'))[0].includes('{"city":"<b>Bern</b>"}'));
}

async function checkHostile(page) {
    await page.click('#new');
    await say(page, 'HOSTILE');
    const found = await page.evaluate(() => {
        const all = [...document.querySelectorAll('.assistant > .sheet *')];
        return { names: [...new Set(all.map(e => e.localName))], attributes: [...new Set(all.flatMap(e => e.getAttributeNames()))], attacked: window.attacked,
                 is_whole: document.querySelector('.assistant > .sheet').textContent.includes('<script>window.attacked = 1</script>') };
    });
    const names = 'h3 h4 h5 h6 p br hr ul ol li blockquote code pre figure figcaption button span div table thead tbody tr th td em strong s'.split(' ')
        .concat('math mrow mi mn mo mtext mfrac msqrt msup msub msubsup mover'.split(' '));
    const attributes = 'class tabindex type start scope role aria-label display'.split(' ');
    check('only elements that are allowed', found.names.every(n => names.includes(n)), found.names);
    check('only attributes that are allowed', found.attributes.every(n => attributes.includes(n)), found.attributes);
    check('nothing ran', found.attacked === undefined, String(found.attacked));
    check('what it said is read as it was said', found.is_whole);
    for (const name of ['table', 'strong', 'em', 's', 'blockquote', 'mfrac', 'msqrt', 'pre', 'ol', 'ul']) check(`there is ${name}`, found.names.includes(name), found.names);
    await page.screenshot({ path: join(pictures, 'hostile.png') });
    await clean(page, 'a hostile answer');
    const long = ['*a '.repeat(30000), '['.repeat(30000), '`'.repeat(3000) + ' ` '.repeat(20000), '> '.repeat(20000), '$a '.repeat(30000), '|a'.repeat(20000) + '\n' + '|-'.repeat(20000), '- '.repeat(20000), '![a]('.repeat(20000)];
    const took = await page.evaluate(async long => {
        const { blocksOf } = await import('/page/markdown.js');
        return long.map(t => { const at = performance.now(); blocksOf(t).forEach(b => b.build()); return Math.round(performance.now() - at); });
    }, long);
    check('long marks end soon', took.every(ms => ms < 3000), took);
}

async function checkKept(page, address, browser) {
    const before = (await text(page, '#list .name')).length;
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    check('conversations are kept', (await text(page, '#list .name')).length === before && before >= 4, String(before));
    const saved = await page.evaluate(async () => {
        const store = await import('/page/store.js');
        return JSON.stringify({ format: 'hone conversations', version: 1, conversations: store.all() });
    });
    writeFileSync(join(folder, 'saved.json'), saved);
    writeFileSync(join(folder, 'wrong.json'), '{"format":"hone conversations","version":1,"conversations":[{"title":1}]}');
    writeFileSync(join(folder, 'note.txt'), 'a note');
    await (await page.$('#import-file')).uploadFile(join(folder, 'saved.json'));
    await page.waitForFunction(n => document.querySelectorAll('#list .name').length === n, { timeout: 5000 }, 2 * before).catch(() => {});
    check('what was saved is read', (await text(page, '#list .name')).length === 2 * before);
    await (await page.$('#import-file')).uploadFile(join(folder, 'wrong.json'));
    await page.waitForSelector('#notice:not([hidden])');
    check('a wrong file is refused by name', (await text(page, '#notice'))[0].includes('conversations[0].title: expected a string, found number'), await text(page, '#notice'));
    const message = (id, parent) => ({ id, parent, role: 'user', content: 'x', at: 1 });
    const wrongs = [[{ a: message('a', 'b'), b: message('b', 'a') }, 'in a circle'], [{ a: message('a', 'c') }, 'has the parent c'], [{ a: { ...message('a', null), role: 'root' } }, 'expected a role'],
                    [{ a: message('a', null), b: message('a', null) }, 'one id'], [{ a: null }, 'expected a object'], [{ a: { ...message('a', null), tokens: 3 } }, 'expected an array']];
    for (const [messages, expected] of wrongs) {
        const said = await page.evaluate(async m => {
            const { readConversation } = await import('/page/tree.js');
            try { readConversation({ title: 't', created: 1, changed: 1, system: '', messages: m, chosen: {} }, 'f'); return 'read'; } catch (e) { return e.message; }
        }, messages);
        check(`a conversation is refused: ${expected}`, said.includes(expected), said);
    }
    await (await page.$('#files')).uploadFile(join(folder, 'note.txt'));
    await page.waitForSelector('#attached li');
    await page.click('#new');
    await say(page, 'SHOW the note');
    check('a file goes before the question', (await text(page, '.assistant > .sheet'))[0].includes('a note'));
    await page.click('#list .open [title=delete]');
    await page.click('dialog.small .main');
    await page.waitForFunction(n => document.querySelectorAll('#list .name').length === n, { timeout: 5000 }, 2 * before).catch(() => {});
    check('a conversation is deleted', (await text(page, '#list .name')).length === 2 * before);
}

async function checkCompare(page) {
    await page.click('#new');
    await page.click('#compare');
    await page.select('#other', 'second');
    await say(page, 'Tell me of rain.');
    check('two answers side by side', (await page.$$('.beside-another .assistant')).length === 2);
    check('of two models', (await text(page, '.beside-another .who')).join() === 'first,second', await text(page, '.beside-another .who'));
    await press(page, 'Go on from here');
    check('one of them is gone on from', (await page.$eval('.beside-another .taken .who', e => e.textContent)) === 'second');
    await page.$eval('.beside-another', e => e.scrollIntoView());
    await clean(page, 'a comparison');
    await page.screenshot({ path: join(pictures, 'compare.png') });
    await page.click('#compare');
}

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
    await page.screenshot({ path: join(pictures, 'train-live.png') });
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
            await page.screenshot({ path: join(pictures, `report-${scheme}-${name}.png`) });
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
    await page.screenshot({ path: join(pictures, 'runs.png') });
    await page.click('#train-jobs .run:nth-child(2) input');
    check('one alone', (await page.$$('#train-chart .curve:not(.judged)')).length === 1 && (await page.$$('#train-beside table')).length === 0);
    await page.click('#train-jobs .run:nth-child(2) input');
    check('and both again', (await page.$$('#train-chart .curve:not(.judged)')).length === 2);
}

async function checkTrain(page) {
    const chats = join(folder, 'chats.jsonl'), bad = join(folder, 'bad.jsonl');
    writeFileSync(chats, Array.from({ length: 30 }, (_, i) => JSON.stringify({ messages: [{ role: 'user', content: `what is ${i}?` }, { role: 'assistant', content: `it is <b>number</b> ${i}.` }] })).join('\n'));
    writeFileSync(bad, '{"messages": [');
    await page.click('#tab-train');
    const field = await page.$('#train-file');
    await field.uploadFile(bad);
    await page.waitForSelector('#train-said.alarm');
    check('a mistake is told with its place', (await text(page, '#train-said'))[0].includes('bad.jsonl: line 1, column 15'), await text(page, '#train-said'));
    await field.uploadFile(chats);
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
    await clean(page, 'before training');
    await page.click('#train-start');
    await page.waitForSelector('#train-chart .curve', { timeout: 60000 });
    const steps = async () => Number(/step (\d+) of/.exec((await text(page, '#train-jobs .faint'))[0])[1]);
    const before = await steps();
    await checkLive(page);
    await page.waitForFunction(n => Number(/step (\d+) of/.exec(document.querySelector('#train-jobs .faint').textContent)[1]) > n, { timeout: 60000 }, before);
    check('it is live', (await steps()) > before);
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
            await page.screenshot({ path: join(pictures, `train-${scheme}-${name}.png`) });
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

async function checkModels(page) {
    await page.click('#tab-models');
    await page.waitForSelector('.adapter summary');
    check('memory is told', /[\d.]+ [GM]B of memory/.test((await text(page, '#about'))[0]), await text(page, '#about'));
    check('context and files', /Context512 tokens/.test((await text(page, '#loaded .facts'))[0]) && /Files[\d.]+ MB/.test((await text(page, '#loaded .facts'))[0]), await text(page, '#loaded .facts'));
    const names = await text(page, '.adapter summary');
    check('each adapter', names.length === 4 && names.filter(name => /-at-\d+$/.test(name)).length === 2, names);
    for (const i of [0, 1]) {
        await page.evaluate(n => document.querySelectorAll('.adapter summary')[n].click(), i);
        await page.waitForFunction(n => /all hold/.test(document.querySelectorAll('.adapter')[n].textContent), { timeout: 10000 }, i);
        const told = (await text(page, '.adapter'))[i];
        check('its contract and certificate', ['It holds: its test gives the bits', 'attn,experts, rank ', 'steps', 'f32', 'Certificate'].every(word => told.includes(word)), told);
    }
    await page.click('#refresh');
    await page.waitForFunction(() => document.querySelectorAll('.adapter[open] .facts').length >= 2);
    check('what is open stays so', true);
    await clean(page, 'contracts');
    await page.setViewport({ width: 1280, height: 1300 });
    await page.screenshot({ path: join(pictures, 'contracts.png') });
    await page.setViewport({ width: 1280, height: 860 });
    await page.evaluate(() => [...document.querySelectorAll('.adapter button')].find(b => b.textContent === 'Compare with its base').click());
    await page.waitForFunction(() => !document.getElementById('chat').hidden && document.getElementById('compare').getAttribute('aria-pressed') === 'true');
    check('an adapter beside its base', (await page.$eval('#model', e => e.value)) === 'first' && (await page.$eval('#other', e => e.value)).startsWith('first:'));
    await page.click('#compare');
}

async function takePictures(page) {
    await page.click('#new');
    await say(page, 'How are matrices multiplied? A MATRIX, please, in C and in words.');
    check('a root is no number', await page.evaluate(() => {
        const root = document.querySelector('.assistant msqrt'), wide = e => e.getBoundingClientRect().width;
        return root ? wide(root) > 1.3 * wide(root.firstElementChild) : document.querySelector('.assistant .sheet').textContent.includes('\u221a');
    }));
    for (const scheme of ['light', 'dark']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        for (const [name, width, height] of [['wide', 1280, 860], ['phone', 390, 844]]) {
            await page.setViewport({ width, height });
            await page.click('#tab-chat');
            check(`${name}: nothing is wider than the screen`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            await clean(page, `chat ${scheme} ${name}`);
            await page.screenshot({ path: join(pictures, `chat-${scheme}-${name}.png`) });
            await page.click('#tab-models');
            await page.waitForSelector('#loaded .facts');
            await clean(page, `models ${scheme} ${name}`);
            await page.screenshot({ path: join(pictures, `models-${scheme}-${name}.png`) });
        }
        await page.setViewport({ width: 1280, height: 860 });
        await page.click('#tab-chat');
        for (const id of ['settings', 'keys']) {
            await page.click(`#open-${id}`);
            await clean(page, `${id} ${scheme}`);
            await page.screenshot({ path: join(pictures, `${id}-${scheme}.png`) });
            await page.keyboard.press('Escape');
        }
    }
}

async function checkKey(browser) {
    writeFileSync(join(folder, 'keys'), 'someone a-secret-of-32-characters-000000\n', { mode: 0o600 });
    const { child, port } = await serve('--api-keys', join(folder, 'keys')), address = `http://127.0.0.1:${port}/`;
    const page = await browser.newPage();
    await page.goto(address);
    await page.waitForSelector('dialog.small input');
    await page.type('dialog.small input', 'a-secret-of-32-characters-000000');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#model option');
    await say(page, 'Who are you?');
    check('with its key there is an answer', (await text(page, '.assistant > .sheet'))[0].length > 3);
    check('the key is of this tab alone', await page.evaluate(() => sessionStorage.length === 1 && !JSON.stringify(localStorage).includes('secret')));
    await page.click('#tab-models');
    await page.waitForFunction(() => document.getElementById('about').textContent !== '');
    check('props take the admin right', (await text(page, '#about'))[0].includes('admin right'), await text(page, '#about'));
    await page.close();
    child.kill();
}

// In a browser of its own, which takes evil.example for a name of the loopback.
async function checkElsewhere() {
    const told = [], child = spawn(hone, ['serve', '--port', '0', '--log', 'json', '--jobs', join(folder, 'others')], { stdio: ['ignore', 'pipe', 'pipe'] });
    let rest = '';
    child.stderr.on('data', d => {
        const lines = (rest + d).split('\n');
        rest = lines.pop();
        told.push(...lines.filter(line => line.startsWith('{')));
    });
    const at = await new Promise(resolve => child.stdout.once('data', line => resolve(Number(/:(\d+)/.exec(String(line))[1]))));
    const browser = await puppeteer.launch({ ...launched, args: [...launched.args, '--host-resolver-rules=MAP evil.example 127.0.0.1'] });
    await checkForeign(browser, at, () => told, check).catch(error => check('elsewhere', false, error.stack));
    await browser.close();
    child.kill();
}

const launched = { executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-quic'] };
const { child, port } = await serve('first=hone:tiny', 'second=hone:tiny', '--jobs', join(folder, 'jobs'));
const between = await proxy(port), address = `http://127.0.0.1:${between.address().port}/`;
const browser = await puppeteer.launch(launched);
try {
    const page = await newPage(browser, address);
    await page.setViewport({ width: 1280, height: 860 });
    await page.screenshot({ path: join(pictures, 'empty.png') });
    for (const part of [checkChat, checkEnds, checkHostile, checkCompare, checkKept, checkTrain, checkModels, takePictures]) {
        await part(page, address, browser).catch(error => check(part.name, false, error.stack));
        await page.bringToFront();
    }
    check('no request leaves', outside.length === 0, outside);
    check('the page keeps its own policy', refused.length === 0, refused);
    check('no error in the page', broken.length === 0, broken);
    await checkKey(browser).catch(error => check('keys', false, error.stack));
    await checkElsewhere();
} finally {
    await browser.close();
    between.close();
    child.kill();
    rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
