// hands.mjs: what every part of the check takes: hone, a browser, and fingers.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [hone, modules, pictures] = process.argv.slice(2);
const load = createRequire(join(modules, 'x.js'));
const { default: puppeteer } = await import(load.resolve('puppeteer-core'));
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
export const folder = mkdtempSync(join(tmpdir(), 'hone-page-'));
export { hone, pictures, puppeteer };

export const counted = { passed: 0, failed: 0 };
export function check(what, holds, found = '') {
    holds ? counted.passed++ : (counted.failed++, console.log(`FAILED: ${what} ${typeof found === 'string' ? found : JSON.stringify(found)}`));
}

export function serve(...words) {
    const child = spawn(hone, ['serve', '--port', '0', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    return new Promise(resolve => child.stdout.once('data', line => resolve({ child, port: Number(/:(\d+)/.exec(String(line))[1]) })));
}

export const outside = [], refused = [], broken = [];

export async function newPage(browser, address) {
    const page = await browser.newPage();
    page.on('request', r => { if (!r.url().startsWith(address) && !/^(data|blob):/.test(r.url())) outside.push(r.url()); });
    page.on('console', m => { if (/Content Security Policy/.test(m.text())) refused.push(m.text()); });
    page.on('pageerror', e => broken.push(e.message));
    await page.goto(address);
    await page.waitForSelector('html[data-ready]');
    return page;
}

export const text = (page, what) => page.$$eval(what, all => all.map(e => e.textContent));
export const idle = page => page.waitForFunction(() => document.getElementById('stop').hidden, { timeout: 60000 });

export async function say(page, words, is_waiting = true) {
    await page.click('#question');
    await page.keyboard.type(words);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.message');
    if (is_waiting) await idle(page);
}

export const press = (page, name, nth = 0) => page.evaluate((n, i) => {
    [...document.querySelectorAll('.message button, #list button')].filter(b => b.textContent === n)[i].click();
}, name, nth);

export async function clean(page, name) {
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await window.axe.run()).violations.map(v => `${v.id}: ${v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(', ')}`));
    check(`axe-core, ${name}`, found.length === 0, found);
}

export async function picture(page, name) {
    await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** As a file that is dragged from elsewhere and let go of over the page. */
export async function drop(page, name, content) {
    await page.evaluate((n, text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], n, { type: 'text/plain' }));
        document.body.dispatchEvent(new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer: data }));
        document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }));
    }, name, content);
}
