// http_llhttp.js PROGRAM [--n N] [--seed S] [--write FILE]: what llhttp, the parser of Node.js, in its strict mode makes of
// seeded mutations of requests, beside what PROGRAM (build/tests/differential/http) --lines does.
//
// Three things are counted: the same; refused here alone, by the reason that is given (this server takes less); and what
// must not be: taken here and refused there, or taken by both as other requests, other than for a reason of `known`.
// --write keeps a few of each kind, with both verdicts and why.
'use strict';
const { spawnSync } = require('child_process');
const fs = require('fs');
const { HTTPParser, methods } = process.binding('http_parser');
const allMethods = require('http').METHODS && (process.binding('http_parser').allMethods || methods);

const program = process.argv[2];
const option = (name, otherwise) => {
  const at = process.argv.indexOf('--' + name);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const n = Number(option('n', 20000)), seed = Number(option('seed', 1)), file = option('write', '');

let state = (seed >>> 0) || 1;
const draw = (below) => { // xorshift32
  state ^= state << 13; state >>>= 0;
  state ^= state >>> 17;
  state ^= state << 5; state >>>= 0;
  return state % below;
};

const seeds = [
  'GET /v1/models?x=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\n\r\n',
  'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{"a"}',
  'POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x="y"\r\nabc\r\n00a\r\n0123456789\r\n0\r\nT: v\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /c HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET',
  'DELETE /v1/files/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Empty:\r\n\r\nrest',
  'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n',
  'HEAD / HTTP/1.1\r\nHost: a\r\nX: 1\r\nX: 2\r\nX-Y:\t a b \t\r\n\r\n',
];
const splices = ['\r\n', '\n', '\r', '\r\n\r\n', ' ', '\t', '\0', ':', ' :', ', ', ';', '0', '00', '+1', '-1', '0x5', '1e1', '\x0b', '\x7f', '\x80',
  'chunked', 'gzip, chunked', 'chunked, identity', 'Chunked', ' chunked', 'Content-Length: 5\r\n', 'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: identity\r\n', 'Host: b\r\n', 'Connection: close\r\n', 'Expect: 100-continue\r\n',
  'Upgrade: h2c\r\n', 'Connection: upgrade\r\nUpgrade: x\r\n', ' HTTP/1.1', 'HTTP/1.0', 'http://a/', '%2e', 'ffffffffffffffff', '"', '\r\n ', '\r\n\t'];

function mutate(text) {
  let s = text;
  for (let k = draw(4); k >= 0; k--) {
    const at = draw(s.length + 1), length = 1 + draw(6), other = seeds[draw(seeds.length)];
    switch (draw(6)) {
      case 0: s = s.slice(0, at) + String.fromCharCode(draw(256)) + s.slice(at + 1); break;
      case 1: s = s.slice(0, at) + s.slice(at + length); break;
      case 2: case 3: s = s.slice(0, at) + splices[draw(splices.length)] + s.slice(at + (draw(2) ? 0 : length)); break;
      case 4: s = s.slice(0, at) + s.slice(at, at + length) + s.slice(at); break;
      default: s = s.slice(0, at) + other.slice(draw(other.length)); break;
    }
  }
  return s;
}

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');

function llhttp(buffer) {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {}, 65536, 0); // 0: nothing is forgiven
  let out = '', head = null, body = [], fields = [], closed = false, url = '';
  const begin = () => { head = null; body = []; fields = []; url = ''; };
  parser[HTTPParser.kOnMessageBegin | 0] = begin;
  parser[HTTPParser.kOnHeaders | 0] = (more, address) => { fields = fields.concat(more); url += address; };
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, list, method, address, status, words, upgrade, keeps) => {
    head = { version: `${major}.${minor}`, method: allMethods[method], url: url + (address || ''), list: fields.concat(list || []), keeps, upgrade };
    fields = []; url = '';
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (chunk) => body.push(Buffer.from(chunk));
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    let list = '';
    for (let i = 0; i + 1 < head.list.length; i += 2)
      list += hex(head.list[i].toLowerCase()) + '=' + hex(head.list[i + 1].replace(/[ \t]+$/, '')) + ',';
    if (!closed)
      out += `${head.method} ${hex(head.url)} ${list} ${Buffer.concat(body).toString('hex')}; `;
    closed = closed || !head.keeps || head.upgrade;
    head.upgraded = head.upgrade;
    head.done = true;
  };
  const result = parser.execute(buffer);
  let end = 'more', why = '';
  if (closed) end = 'closed';
  else if (result instanceof Error) { end = 'refused'; why = result.code || ''; }
  else if (typeof parser.finish === 'function' && !(parser.finish() instanceof Error) && (!head || head.done)) end = 'end';
  parser.free();
  return { verdict: out + end, why };
}

// Why this server may judge otherwise; the first that fits.
const known = [
  [/(chunked|close|keep-alive|Content-Length: *\d+) *\t/i, 'a tab behind a word is blank, as RFC 9110 5.6.3 has it; llhttp takes it for part of the word'],
  [/^Connection: (keep-alive[^]*^Connection: close|close[^]*^Connection: keep-alive)/mi, 'of several fields Connection a close wins; llhttp takes one of them'],
  [/\r$/, 'the bytes end in the middle of an empty line between requests, which llhttp takes for none'],
  [/\bCONNECT\b|Upgrade/i, 'llhttp hands the rest over after an Upgrade; here it is ignored, as RFC 9110 allows'],
];

const cases = [];
for (let i = 0; i < n; i++)
  cases.push(i < seeds.length ? seeds[i] : mutate(seeds[draw(seeds.length)]));
const answers = spawnSync(program, ['--lines'], { input: cases.map(hex).join('\n') + '\n', maxBuffer: 1 << 30 }).stdout.toString().split('\n');

const plain = (verdict) => verdict.replace(/refused \d+/, 'refused');
const bare = (verdict) => verdict.replace(/3f /g, ' '); // a ? with nothing behind it
const withoutTarget = (verdict) => verdict.replace(/([A-Z-]+) [0-9a-f]* /g, '$1 ');
const counts = { same: 0, 'refused here alone': 0, 'unlike': 0 }, reasons = {}, kept = [], perReason = {};
let shown = 0;
for (let i = 0; i < n; i++) {
  const [hone, reason] = answers[i].split('\t');
  const judged = llhttp(Buffer.from(cases[i], 'latin1'));
  // A path that is decoded, or stands in an address, is not compared: llhttp gives it as it came.
  const isTargetOther = /%|http:/i.test(cases[i]);
  const ours = isTargetOther ? withoutTarget(plain(hone)) : plain(hone);
  const theirs = isTargetOther ? withoutTarget(judged.verdict) : bare(judged.verdict);
  const same = ours === theirs;
  let kind = 'same', why = '';
  if (!same && /refused$/.test(ours) && theirs.startsWith(ours.slice(0, -7))) {
    kind = 'refused here alone';
    why = reason;
  } else if (!same) {
    kind = 'unlike';
  }
  // No request differs: there a byte is refused, here the line or head that it is in has to be whole first.
  if (kind === 'unlike' && /refused$/.test(theirs) && /(more|end)$/.test(ours) && ours.replace(/(more|end)$/, '') === theirs.slice(0, -7)) {
    kind = 'refused there earlier';
    why = 'llhttp refuses ' + judged.why + ' at a byte where this parser waits for the line or head to end';
  }
  if (kind === 'unlike')
    for (const [pattern, words] of known)
      if (pattern.test(cases[i])) { kind = 'known'; why = words; break; }
  counts[kind] = (counts[kind] || 0) + 1;
  if (why) reasons[why] = (reasons[why] || 0) + 1;
  if (kind === 'unlike' && shown++ < 12)
    console.log(`unlike: ${JSON.stringify(cases[i])}\n  here   ${hone} ${reason}\n  there  ${judged.verdict} ${judged.why}`);
  const group = kind + '|' + why + '|' + (kind === 'same' ? ours.slice(-7) + judged.why : '');
  perReason[group] = (perReason[group] || 0) + 1;
  if (perReason[group] <= 3 && kind !== 'unlike')
    kept.push({ bytes: hex(cases[i]), hone, llhttp: same ? hone : judged.verdict, why: same ? '' : why });
}
console.log(`llhttp ${process.versions.llhttp}, ${n} inputs, seed ${seed}`);
for (const kind of Object.keys(counts)) console.log(`${counts[kind]}  ${kind}`);
for (const why of Object.keys(reasons).sort((a, b) => reasons[b] - reasons[a])) console.log(`  ${reasons[why]}  ${why}`);
if (file) fs.writeFileSync(file, JSON.stringify({ llhttp: process.versions.llhttp, seed, n, cases: kept }, null, 1) + '\n');
process.exit(counts.unlike ? 1 : 0);
