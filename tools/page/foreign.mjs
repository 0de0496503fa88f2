// foreign.mjs: what a page of another origin can reach of a server without keys: nothing. A name that is turned to the loopback
// (rebinding), requests that take no preflight, forms, a frame.
import http from 'node:http';

const SAID = JSON.stringify({ messages: [{ role: 'user', content: 'a' }], max_tokens: 1 });

function foreignServer() {
    return new Promise(resolve => {
        const server = http.createServer((from, to) => to.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>elsewhere</title>'));
        server.listen(0, '127.0.0.1', () => resolve(server));
    });
}

// How the browser ended a request of a page: its status, or the error that the page sees.
const sent = (page, url, options) => page.evaluate(async (u, o) => {
    try {
        const reply = await fetch(u, o);
        return `${reply.type} ${reply.status}`;
    } catch (error) {
        return error.name;
    }
}, url, options);

// A form sent by the page itself, to where it leads; the status of what comes.
async function submit(page, home, url, type, fields) {
    await page.goto(home);
    const [reply] = await Promise.all([page.waitForNavigation(), page.evaluate((u, t, f) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action: u, enctype: t });
        for (const [name, value] of f) form.append(Object.assign(document.createElement('input'), { name, value }));
        document.body.append(form);
        form.submit();
    }, url, type, fields)]);
    return reply.status();
}

async function checkRebinding(page, port, check) {
    const reply = await page.goto(`http://evil.example:${port}/`);
    check('a name turned to this address gets no page', reply.status() === 421, String(reply.status()));
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: SAID };
    for (const [path, options] of [['/v1/models', {}], ['/v1/chat/completions', json], ['/metrics', {}]])
        check(`nor ${path}`, await sent(page, path, options) === 'basic 421', await sent(page, path, options));
    for (const name of ['localhost', '127.0.0.1']) check(`${name} is this server`, (await page.goto(`http://${name}:${port}/`)).status() === 200);
}

async function checkRequests(page, home, to, check) {
    await page.goto(home);
    const post = (type, mode) => ({ method: 'POST', mode, headers: type ? { 'Content-Type': type } : {}, body: SAID });
    check('JSON takes leave that is not given', await sent(page, `${to}/v1/chat/completions`, post('application/json', 'cors')) === 'TypeError');
    check('a text is not read', await sent(page, `${to}/v1/chat/completions`, post('text/plain', 'cors')) === 'TypeError');
    for (const path of ['/v1/chat/completions', '/v1/completions', '/api/generate', '/v1/unload_lora_adapter'])
        await sent(page, `${to}${path}`, post('text/plain', 'no-cors'));
    await page.evaluate((u, body) => navigator.sendBeacon(u, new Blob([body])), `${to}/v1/chat/completions`, SAID); // of no type at all
    check('nor what is only got', await sent(page, `${to}/v1/models`, { mode: 'cors' }) === 'TypeError');
    const framed = await page.evaluate(u => new Promise(resolve => {
        const frame = Object.assign(document.createElement('iframe'), { src: u, onload: () => setTimeout(() => resolve(frame.contentDocument === null), 200) });
        document.body.append(frame);
    }), `${to}/`);
    const frame = page.frames().find(f => f !== page.mainFrame());
    check('nor does it stand in a frame', framed && !(await frame.$('#question').catch(() => null)), frame?.url());
}

async function checkForms(page, home, to, check) {
    const cut = SAID.indexOf('}');
    const forms = [['text/plain', [[SAID.slice(0, cut), SAID.slice(cut)]], '/v1/chat/completions'], ['application/x-www-form-urlencoded', [['prompt', 'a']], '/v1/completions'],
                   ['multipart/form-data', [['purpose', 'fine-tune'], ['file', '{}']], '/v1/files'], ['text/plain', [['{"name":"', '"}']], '/v1/unload_lora_adapter']];
    for (const [type, fields, path] of forms) {
        const status = await submit(page, home, to + path, type, fields);
        check(`a form of ${type} to ${path}`, status === 403, String(status));
    }
    await page.goto(home); // of no origin: a frame in a sandbox
    await page.evaluate((u, name, value) => {
        const form = `<form method=post enctype=text/plain action="${u}"><input name='${name}' value='${value}'></form><script>document.forms[0].submit()</script>`;
        document.body.append(Object.assign(document.createElement('iframe'), { sandbox: 'allow-scripts allow-forms', srcdoc: form }));
    }, `${to}/v1/chat/completions`, SAID.slice(0, cut), SAID.slice(cut));
    await new Promise(resolve => setTimeout(resolve, 500));
}

// `browser` has evil.example mapped to the loopback. `told` is the server's log, a line a request.
export async function checkForeign(browser, port, told, check) {
    const elsewhere = await foreignServer(), page = await browser.newPage(), to = `http://127.0.0.1:${port}`;
    const homes = [`http://evil.example:${elsewhere.address().port}/`, `http://127.0.0.1:${elsewhere.address().port}/`];
    await checkRebinding(page, port, check);
    await new Promise(resolve => setTimeout(resolve, 300)); // until the log has what was asked so far
    const from = told().length;
    for (const home of homes) {
        await checkRequests(page, home, to, check);
        await checkForms(page, home, to, check);
    }
    await new Promise(resolve => setTimeout(resolve, 300));
    const requests = told().slice(from).map(line => JSON.parse(line));
    const asked = requests.filter(r => r.method === 'POST');
    check('all of it has come, and was refused', asked.length >= 2 * 11 && asked.every(r => r.status === 403), asked.map(r => `${r.path} ${r.status}`));
    check('reads too', requests.filter(r => r.method === 'GET' && r.path.startsWith('/v1/')).every(r => r.status === 403), requests);
    const made = await (await fetch(`${to}/metrics`)).text();
    check('no token was made for it', /hone_tokens_generated_total\{[^}]*\} 0\b/.test(made) && !/hone_tokens_generated_total\{[^}]*\} [1-9]/.test(made));
    check('and no file is kept', (await (await fetch(`${to}/v1/files`)).json()).data.length === 0);
    await page.close();
    elsewhere.close();
}
