// scripted.mjs: a proxy between the browser and hone, which answers what no small model can be made to say: an endless answer, a
// hostile one, thoughts, a call of a tool, a connection that breaks.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const hostile = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'hostile.md'), 'utf8');

const MATRIX = 'A **matrix** is a table of numbers; here is how two are multiplied, in $O(n^3)$:\n\n```c\nfor (int i = 0; i < n; i++)\n    for (int j = 0; j < n; j++)\n        c[i][j] = dot(a, b, i, j);\n```\n\n' +
    '| format | bits | error |\n|---|--:|--:|\n| q8_0 | 8.5 | 0.003 |\n| q4_0 | 4.5 | 0.05 |\n\n1. The rows of the first\n2. The columns of the second\n\n> Both have to be of one length.\n\n$$\\sum_{i=1}^{n} a_i b_i = \\frac{x}{\\sqrt{2}}$$\n';

export const lasting = new Set();

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

export function proxy(port) {
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
