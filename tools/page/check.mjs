// check.mjs HONE MODULES PICTURES: see check.sh.
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkAgain, checkChat, checkCompare, checkDrops, checkEnds, checkHostile, checkKept, checkKeyboard } from './chat.mjs';
import { checkForeign } from './foreign.mjs';
import { broken, check, clean, counted, folder, hone, newPage, outside, picture, puppeteer, refused, say, serve, text } from './hands.mjs';
import { proxy } from './scripted.mjs';
import { checkBesideFiles, checkModels, checkTrain } from './train.mjs';

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
            await picture(page, `chat-${scheme}-${name}`);
            await page.click('#tab-models');
            await page.waitForSelector('#loaded .facts');
            await clean(page, `models ${scheme} ${name}`);
            await picture(page, `models-${scheme}-${name}`);
        }
        await page.setViewport({ width: 1280, height: 860 });
        await page.click('#tab-chat');
        for (const id of ['settings', 'keys']) {
            await page.click(`#open-${id}`);
            await clean(page, `${id} ${scheme}`);
            await picture(page, `${id}-${scheme}`);
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
    await picture(page, 'empty');
    const only = process.env.HN_PAGE_PARTS?.split(','); // names of these
    for (const part of [checkChat, checkEnds, checkHostile, checkAgain, checkCompare, checkKept, checkKeyboard, checkDrops, checkTrain, checkModels, checkBesideFiles, takePictures].filter(part => !only || only.includes(part.name))) {
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
console.log(`${counted.passed} passed, ${counted.failed} failed`);
process.exit(counted.failed ? 1 : 0);
