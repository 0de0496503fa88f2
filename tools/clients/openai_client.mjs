// openai of npm against `hone serve`: see check.sh.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, locked] = process.argv.slice(2);
const load = createRequire(join(process.env.HN_MODULES, 'x.js'));
const { OpenAI, toFile, NotFoundError, BadRequestError, AuthenticationError } = load('openai');
const MODEL = 'm', TINY = 'hone-tiny', EMBEDS = 'e';
const SCHEMA = { type: 'object', properties: { place: { type: 'string', enum: ['here', 'there'] }, n: { type: 'integer', minimum: 3, maximum: 17 } },
                 required: ['place', 'n'], additionalProperties: false };
const STORY = [{ role: 'user', content: 'Tell me a story' }], ASKED = { model: TINY, messages: STORY, max_tokens: 12, seed: 5 };
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
let passed = 0, failed = 0;

function check(what, holds, found = '') {
    holds ? passed++ : (failed++, console.log(`FAILED: ${what} ${typeof found === 'string' ? found : JSON.stringify(found)}`));
}

async function refused(what, kind, call, ...words) {
    const error = await call().then(() => null, e => e);
    check(`${what} is refused: ${error}`, error instanceof kind && words.every(w => String(error.message).includes(w)));
    return error;
}

const fits = text => { const v = JSON.parse(text); return Object.keys(v).join() === 'place,n' && ['here', 'there'].includes(v.place) && v.n >= 3 && v.n <= 17; };
const all = async stream => { const list = []; for await (const one of stream) list.push(one); return list; };
const plain = async (path, body) => (await fetch(url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json();

async function chats() {
    const whole = await client.chat.completions.create(ASKED), text = whole.choices[0].message.content;
    check('a chat', text === (await plain('/v1/chat/completions', ASKED)).choices[0].message.content && whole.usage.completion_tokens === 12, whole);
    const chunks = await all(await client.chat.completions.create({ ...ASKED, stream: true, stream_options: { include_usage: true } }));
    check('a stream', chunks.map(c => c.choices[0]?.delta.content ?? '').join('') === text && chunks.at(-1).usage.completion_tokens === 12 && chunks.at(-1).choices.length === 0);
    const helper = client.chat.completions.stream(ASKED), heard = [];
    helper.on('content', piece => heard.push(piece));
    check('the helper\'s stream', (await helper.finalContent().catch(e => e.message)) === text || heard.join('') === text, heard.join(''));
    const leaving = await client.chat.completions.create({ ...ASKED, max_tokens: undefined, stream: true });
    for await (const _ of leaving) break;
    check('who leaves a stream has left', leaving.controller.signal.aborted);
    check('models', (await all(client.models.list())).map(m => m.id).slice(0, 3).join() === [MODEL, TINY, EMBEDS].join());
}

async function tools() {
    const tool = { type: 'function', function: { name: 'look', description: 'at a place', parameters: SCHEMA, strict: true } };
    const asked = { model: MODEL, messages: STORY, tools: [tool], max_tokens: 300, seed: 3, thinking_budget: 4, parallel_tool_calls: false };
    const whole = (await client.chat.completions.create({ ...asked, tool_choice: 'required' })).choices[0], call = whole.message.tool_calls[0];
    check('a call', whole.finish_reason === 'tool_calls' && call.function.name === 'look' && fits(call.function.arguments), whole);
    const helper = client.chat.completions.stream({ ...asked, tool_choice: 'required' });
    const final = (await helper.finalChatCompletion()).choices[0].message.tool_calls;
    check('in a stream', final.length === 1 && final[0].function.arguments === call.function.arguments, final);
    const given = [];
    const runner = client.chat.completions.runTools({ ...asked, max_tokens: 400, tool_choice: { type: 'function', function: { name: 'look' } },
        tools: [{ ...tool, function: { ...tool.function, function: v => { given.push(v); return 'a red bird'; }, parse: JSON.parse } }] });
    const messages = await runner.done().then(() => runner.messages);
    check('it is run', given.length === 1 && fits(JSON.stringify(given[0])) && messages.at(-1).role === 'tool' && messages.at(-1).content === 'a red bird', messages);
    const before = await client.chat.completions.create({ ...asked, max_tokens: 4 }), after = await client.chat.completions.create({ ...asked, max_tokens: 4, messages });
    check('its result goes back', after.usage.prompt_tokens > before.usage.prompt_tokens + 10);
}

async function forms() {
    const whole = await client.chat.completions.parse({ model: TINY, messages: STORY, seed: 1, response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } } });
    check('a schema', fits(whole.choices[0].message.content) && whole.choices[0].finish_reason === 'stop', whole);
    const asked = { model: EMBEDS, input: ['a b', 'c'] }, packed = await client.embeddings.create(asked), floats = await client.embeddings.create({ ...asked, encoding_format: 'float' });
    check('base64, which is the client\'s default, is the floats', packed.data.every((d, i) => d.embedding.length > 4 && d.embedding.every((x, k) => x === Math.fround(floats.data[i].embedding[k]))));
}

async function responses() {
    const asked = { model: TINY, input: 'Tell me a story', max_output_tokens: 12, seed: 5 }, whole = await client.responses.create(asked);
    check('a response', whole.output_text === (await client.chat.completions.create(ASKED)).choices[0].message.content && whole.status === 'incomplete', whole);
    const events = await all(await client.responses.create({ ...asked, stream: true }));
    check('its events', events.filter(e => e.type === 'response.output_text.delta').map(e => e.delta).join('') === whole.output_text && events.at(-1).type === 'response.incomplete');
    const next = await client.responses.create({ ...asked, previous_response_id: whole.id });
    check('it goes on', next.previous_response_id === whole.id && next.usage.input_tokens > whole.usage.input_tokens);
    check('what went in', (await all(client.responses.inputItems.list(next.id))).length === 3);
    await client.responses.delete(whole.id);
    await refused('deleted', NotFoundError, () => client.responses.retrieve(whole.id));
}

async function jobs() {
    const lines = Array.from({ length: 8 }, (_, i) => JSON.stringify({ messages: [{ role: 'user', content: `what is ${i}?` }, { role: 'assistant', content: `it is ${i}.` }] }) + '\n').join('');
    const file = await client.files.create({ file: await toFile(Buffer.from(lines), 'a.jsonl'), purpose: 'fine-tune', model: TINY });
    check('a file', file.bytes === lines.length && (await (await client.files.content(file.id)).text()) === lines, file);
    await refused('a file with a mistake', BadRequestError, async () => client.files.create({ file: await toFile(Buffer.from('{"messages": ['), 'b.jsonl'), purpose: 'fine-tune', model: TINY }), 'line 1, column 15');
    const dry = await client.fineTuning.jobs.create({ model: TINY, training_file: file.id, dry_run: true });
    check('a job that is planned', dry.steps > 0 && dry.memory_bytes > 0, dry);
    let job = await client.fineTuning.jobs.create({ model: TINY, training_file: file.id, suffix: 'node', settings: ['rank=2', 'steps=3'] });
    for (let i = 0; i < 600 && !['succeeded', 'failed'].includes(job.status); i++) {
        await new Promise(resolve => setTimeout(resolve, 100));
        job = await client.fineTuning.jobs.retrieve(job.id);
    }
    check('a job', job.status === 'succeeded' && job.fine_tuned_model.startsWith(`${TINY}:node-`), job);
    check('its events', (await all(client.fineTuning.jobs.listEvents(job.id, { limit: 2 }))).length > 2);
    check('it answers', (await client.chat.completions.create({ ...ASKED, model: job.fine_tuned_model })).usage.completion_tokens === 12);
    check('and can go', (await client.models.delete(job.fine_tuned_model)).deleted && (await client.files.delete(file.id)).deleted);
}

async function errors() {
    const lost = await refused('no such model', NotFoundError, () => client.chat.completions.create({ ...ASKED, model: 'gone' }), 'gone');
    check('by its field', lost?.param === 'model');
    const long = await refused('too long', BadRequestError, () => client.chat.completions.create({ ...ASKED, messages: [{ role: 'user', content: 'a '.repeat(9000) }] }));
    check('by its code', long?.code === 'context_length_exceeded');
    const other = new OpenAI({ baseURL: `${locked}/v1`, apiKey: 'another-secret-00', maxRetries: 0 });
    await refused('no key', AuthenticationError, () => other.chat.completions.create(ASKED));
    const known = new OpenAI({ baseURL: `${locked}/v1`, apiKey: process.env.HN_SECRET, maxRetries: 0 });
    check('a key', (await known.chat.completions.create(ASKED)).usage.completion_tokens === 12);
}

for (const part of [chats, tools, forms, responses, jobs, errors]) await part().catch(error => check(part.name, false, error.stack));
console.log(`openai of npm ${load('openai/version').VERSION}: ${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
