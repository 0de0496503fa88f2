// Coding agents of npm against `hone serve`, by their command lines: Qwen Code, which asks /v1/chat/completions, and Codex, which asks
// /v1/responses. See check.sh. No model that is small can be an agent: a proxy gives each request a grammar of one text, which the
// sampler, the detokeniser and the readers of calls say and read. The agent reads a file, mends it, runs its test and says so; nothing
// of what it sends is changed otherwise.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const [url, name] = process.argv.slice(2), model = 'agent';
const TASK = 'The test fails: mend sum.mjs.', home = mkdtempSync(join(tmpdir(), 'hone-agent-')), work = join(home, 'work');
let passed = 0, failed = 0;

function check(what, holds, found = '') {
    holds ? passed++ : (failed++, console.log(`FAILED: ${what} ${typeof found === 'string' ? found : JSON.stringify(found).slice(0, 3000)}`));
}

// ---- what it is made to say ----

const file = join(work, 'sum.mjs');
const call = (name, args) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
const FIRST = 'First the file. ', LAST = 'It adds now, and its test passes.', TEST = `node ${join(work, 'test.mjs')}`;
const agents = {
    qwen: {
        said: [FIRST + call('read_file', { file_path: file }), call('edit', { file_path: file, old_string: 'return a - b;', new_string: 'return a + b;' }),
               call('run_shell_command', { command: TEST, is_background: false }), LAST],
        path: '/chat/completions', results: request => request.messages.filter(m => m.role === 'tool').map(m => JSON.stringify(m.content)),
        words: address => ['--bare', '--yolo', '--auth-type', 'openai', '--openai-base-url', `${address}/v1`, '--openai-api-key', 'none', '--model', model, '--output-format', 'json',
                           '--max-session-turns', '8', '--core-tools', 'read_file', 'edit', 'run_shell_command', '--system-prompt', 'You mend programs.', '--prompt', TASK],
        settings: () => ['.qwen/settings.json', JSON.stringify({ telemetry: { enabled: false }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false, disableAutoUpdate: true } })],
    },
    codex: { // it edits by commands; tools that have tools in them are not known here
        said: [FIRST + call('exec_command', { cmd: `cat ${file}` }), call('exec_command', { cmd: `sed -i 's/a - b/a + b/' ${file}` }), call('exec_command', { cmd: TEST }), LAST],
        path: '/responses', results: request => request.input.filter(i => i.type === 'function_call_output').map(i => JSON.stringify(i.output)),
        words: () => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-C', work, TASK],
        settings: address => ['.codex/config.toml', `model = "${model}"\nmodel_provider = "hone"\ncheck_for_update_on_startup = false\nweb_search = "disabled"\n` +
            `[model_providers.hone]\nname = "hone"\nbase_url = "${address}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n` +
            '[features]\nmulti_agent = false\n[analytics]\nenabled = false\n'],
    },
};
const agent = agents[name], { said } = agent;
const literal = text => `root ::= "${text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;

// ---- between them ----

const asked = [], refused = [];

function between() {
    return new Promise(resolve => {
        const server = http.createServer((from, to) => {
            const chunks = [];
            from.on('data', c => chunks.push(c)).on('end', () => {
                let body = Buffer.concat(chunks);
                const headers = { ...from.headers, host: new URL(url).host };
                if (from.url.endsWith(agent.path)) {
                    const request = JSON.parse(body), step = agent.results(request).length;
                    asked.push(request);
                    body = Buffer.from(JSON.stringify({ ...request, grammar: literal(said[Math.min(step, said.length - 1)]) }));
                    headers['content-length'] = body.length;
                    delete headers['transfer-encoding'];
                }
                const on = http.request(new URL(from.url, url), { method: from.method, headers }, reply => {
                    to.writeHead(reply.statusCode, reply.headers);
                    if (reply.statusCode !== 200) reply.on('data', c => refused.push(`${from.url} ${reply.statusCode} ${c}`));
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

// ---- the agent ----

function run(address) {
    const child = spawn(join(process.env.HN_MODULES, 'node_modules/.bin', name), agent.words(address),
                        { cwd: work, env: { PATH: process.env.PATH, HOME: home, NO_PROXY: '*', CI: '1' }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '', err = '';
    child.stdout.on('data', d => out += d);
    child.stderr.on('data', d => err += d);
    const timer = setTimeout(() => child.kill(), 240000);
    return new Promise(resolve => child.on('close', code => { clearTimeout(timer); resolve({ code, out, err }); }));
}

mkdirSync(work);
writeFileSync(file, 'export function sum(a, b) {\n    return a - b;\n}\n');
writeFileSync(join(work, 'test.mjs'), `import { sum } from './sum.mjs';\nif (sum(2, 3) !== 5) throw new Error('sum(2, 3) is ' + sum(2, 3));\nconsole.log('all ' + 'is well');\n`);
const server = await between();
const address = `http://127.0.0.1:${server.address().port}`, [settings, text] = agent.settings(address);
mkdirSync(dirname(join(home, settings)), { recursive: true });
writeFileSync(join(home, settings), text);
const { code, out, err } = await run(address), results = asked.length ? agent.results(asked.at(-1)) : [];
check('nothing was refused', refused.length === 0, refused);
check('it ends well', code === 0, `${code}\n${out.slice(-2000)}\n${err.slice(-2000)}`);
check('it asked once for each thing that was said', asked.length === said.length && asked.every(a => a.stream && a.tools.length >= 3), asked.map(a => (a.messages ?? a.input).at(-1)));
check('it has read the file', results[0]?.includes('return a - b;'), results);
check('it has mended it', readFileSync(file, 'utf8') === 'export function sum(a, b) {\n    return a + b;\n}\n');
check('its test has run', results[2]?.includes('all is well'), results);
check('what was said before a call goes back', (asked.at(-1)?.messages ?? asked.at(-1)?.input)?.some(m => m.role === 'assistant' && JSON.stringify(m.content)?.includes('First the file.')), asked.at(-1));
check('its last words are told', out.includes(LAST), out.slice(-2000));
console.log(`${name}: ${passed} passed, ${failed} failed`);
server.close();
rmSync(home, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
