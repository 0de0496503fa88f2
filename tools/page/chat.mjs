// chat.mjs: talking: asked, stopped, branched, compared, kept, and what hostile answers come to.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { broken, check, clean, drop, folder, idle, newPage, outside, picture, press, say, text } from './hands.mjs';
import { lasting } from './scripted.mjs';

export async function checkChat(page) {
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
    await picture(page, 'tokens');
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

export async function checkEnds(page) {
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

export async function checkHostile(page) {
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
    await picture(page, 'hostile');
    await clean(page, 'a hostile answer');
    const long = ['*a '.repeat(30000), '['.repeat(30000), '`'.repeat(3000) + ' ` '.repeat(20000), '> '.repeat(20000), '$a '.repeat(30000), '|a'.repeat(20000) + '\n' + '|-'.repeat(20000), '- '.repeat(20000), '![a]('.repeat(20000)];
    const took = await page.evaluate(async long => {
        const { blocksOf } = await import('/page/markdown.js');
        return long.map(t => { const at = performance.now(); blocksOf(t).forEach(b => b.build()); return Math.round(performance.now() - at); });
    }, long);
    check('long marks end soon', took.every(ms => ms < 3000), took);
}

export async function checkKept(page, address, browser) {
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

export async function checkCompare(page) {
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
    await picture(page, 'compare');
    await page.click('#compare');
}

// The same question with the same seed has the same answer; another is asked for with another seed, also where one is set.
export async function checkAgain(page) {
    const seedOf = async nth => Number((await text(page, '.assistant .foot button')).filter(t => t.startsWith('seed '))[nth].slice(5)), answer = async () => (await text(page, '.assistant > .sheet'))[0];
    await page.click('#new');
    await say(page, 'What did the fox find?');
    const seed = await seedOf(0), first = await answer();
    await press(page, `seed ${seed}`);
    check('a seed is set by pressing it', (await page.$eval('#set-seed', e => e.value)) === String(seed));
    await page.click('#new');
    await say(page, 'What did the fox find?');
    check('the same answer', (await seedOf(0)) === seed && (await answer()) === first);
    await press(page, 'Again');
    await idle(page);
    check('another with another seed', (await seedOf(0)) !== seed && (await answer()) !== first);
    await page.click('#open-settings');
    await page.click('#clear');
    await page.keyboard.press('Escape');
    await page.click('#new');
    await page.click('#compare');
    await page.select('#other', 'second');
    await say(page, 'What did the fox find?');
    check('two of one model and seed say the same', (await seedOf(0)) === (await seedOf(1)) && new Set(await text(page, '.assistant > .sheet')).size === 1);
    await page.click('#compare');
    await page.click('#new');
    await say(page, 'TOOLS');
    await page.click('.assistant .thoughts summary');
    check('thoughts are unfolded', await page.$eval('.assistant .thoughts', d => d.open && d.querySelector('em')?.textContent === 'weather'));
}

export async function checkKeyboard(page, address, browser) {
    await browser.defaultBrowserContext().overridePermissions(address.slice(0, -1), ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']).catch(() => {});
    await page.click('#new');
    await say(page, 'A MATRIX');
    await page.click('.code button');
    await page.waitForFunction(() => document.querySelector('.code button').textContent === 'copied');
    check('code is copied', await page.evaluate(async () => (await navigator.clipboard.readText()) === document.querySelector('.code code').textContent));
    await page.focus('#tab-chat');
    await page.keyboard.press('ArrowRight');
    check('arrows go among views', await page.evaluate(() => document.activeElement.id === 'tab-models' && !document.getElementById('models').hidden));
    await page.keyboard.press('/');
    check('/ leads to the question', await page.evaluate(() => document.activeElement.id === 'question' && !document.getElementById('chat').hidden));
    await page.keyboard.down('Control');
    await page.keyboard.press(',');
    await page.keyboard.up('Control');
    check('settings', await page.$eval('#settings', d => d.open));
    await page.keyboard.press('Escape');
    await page.focus('#tab-chat');
    await page.keyboard.type('?');
    check('? lists the shortcuts', await page.$eval('#keys', d => d.open));
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    check('c compares', await page.$eval('#other', e => !e.hidden));
    await page.keyboard.press('c');
    await page.keyboard.press('r');
    await idle(page);
    check('r asks again', (await text(page, '.assistant .arrows'))[0].includes('2/2'));
    check('a reader of screens hears of it', (await text(page, '#said'))[0].startsWith('the answer ends'));
    await page.keyboard.down('Control');
    await page.keyboard.down('Shift');
    await page.keyboard.press('O');
    await page.keyboard.up('Shift');
    await page.keyboard.up('Control');
    check('a new conversation', (await page.$$('.message')).length === 0 && await page.$eval('#greeting', e => !e.hidden));
}

const exported = page => page.evaluate(() => new Promise(resolve => {
    const made = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
    URL.createObjectURL = blob => { blob.text().then(t => { URL.createObjectURL = made; HTMLAnchorElement.prototype.click = click; resolve(JSON.parse(t)); }); return '#'; };
    HTMLAnchorElement.prototype.click = () => {};
    document.getElementById('export').click();
}));

// What is dragged here, what is kept, how it looks, and a phone's drawer.
export async function checkDrops(page) {
    await page.click('#new');
    await drop(page, 'list.txt', 'one\n```\ntwo\n');
    await page.waitForSelector('#attached li');
    await drop(page, 'picture.png', '\u0089PNG\0');
    await page.waitForSelector('#notice:not([hidden])');
    check('no text is refused by name', (await text(page, '#notice'))[0].startsWith('picture.png: expected a text'));
    await say(page, 'SHOW the list');
    check('what was dropped goes before the question', (await text(page, '.assistant > .sheet'))[0].includes('one\n```\ntwo'), await text(page, '.assistant > .sheet'));
    check('and is shown folded', (await text(page, '.user .attached summary'))[0].startsWith('list.txt'));
    await page.click('#list .open [title=rename]');
    await page.keyboard.type('A list');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('#list .open .name').textContent === 'A list');
    const before = await text(page, '#list .name'), saved = await exported(page);
    check('all are exported', saved.format === 'hone conversations' && saved.conversations.length === before.length && saved.conversations.some(c => c.title === 'A list' && Object.values(c.messages).some(m => m.attachments?.[0].name === 'list.txt')));
    await page.select('#theme', 'dark');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    check('they are there after a reload', (await text(page, '#list .name')).join() === before.join() && await page.$eval('html', e => e.dataset.theme === 'dark'));
    await page.click('#list .name');
    check('with what was said', (await text(page, '.user > .sheet'))[0] === 'SHOW the list' && (await page.$$('.assistant')).length === 1);
    await page.select('#theme', 'auto');
    await page.setViewport({ width: 390, height: 844 });
    await page.click('#menu');
    await page.waitForFunction(() => document.getElementById('side').getBoundingClientRect().left === 0);
    await clean(page, 'the drawer of a phone');
    await picture(page, 'drawer');
    await page.mouse.click(380, 400);
    check('a drawer is closed beside it', await page.evaluate(() => !document.body.classList.contains('drawn') && document.getElementById('menu').getAttribute('aria-expanded') === 'false'));
    await page.setViewport({ width: 1280, height: 860 });
}
