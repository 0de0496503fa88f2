# serve_bounds.rb BUILD SOURCE: see serve_bounds.sh.
require File.join(ARGV[1], 'tests/harness/serve')

SAID = [{ role: 'user', content: 'a' }].freeze

# ---- limits of a request: each row of the docs is tried at its number, and one beyond ----

def nested(value, times) = times.times.inject(value) { |v, _| [v] }

def tool(name) = { type: 'function', function: { name: name } }

def chat(more) = ['/v1/chat/completions', { messages: SAID, max_tokens: 1 }.merge(more)]

def text(more) = ['/v1/completions', { prompt: [5], max_tokens: 1 }.merge(more)]

# By the row's first words: what asks for so many, and the field that a refusal is about.
ROWS = {
  'bodies: depth' => [->(n) { chat(prompt_cache_options: { x: nested(1, n - 2) }) }, nil],
  '`n`' => [->(n) { text(n: n) }, 'n'],
  '`best_of`' => [->(n) { text(best_of: n) }, 'best_of'],
  '`prompt`, of several' => [->(n) { text(prompt: ['a'] * n) }, 'prompt'],
  'choices of all prompts' => [->(n) { text(prompt: ['a'] * ((n + 15) / 16), n: 16) }, 'n'],
  '`logprobs`, `top_logprobs`' => [->(n) { chat(logprobs: true, top_logprobs: n) }, 'top_logprobs'],
  '`logit_bias`' => [->(n) { text(logit_bias: (1..n).to_h { |i| [i.to_s, 1] }) }, 'logit_bias'],
  '`stop`' => [->(n) { text(stop: (1..n).map { |i| "x#{i}" }) }, 'stop'],
  '`tools`' => [->(n) { chat(tools: (1..n).map { |i| tool("f#{i}") }) }, 'tools'],
  'a tool\'s name: bytes' => [->(n) { chat(tools: [tool('f' * n)]) }, 'tools'],
  '`chat_template_kwargs`' => [->(n) { chat(chat_template_kwargs: (1..n).to_h { |i| ["v#{i}", 1] }) }, 'chat_template_kwargs'],
  'grammars and schemas: bytes' => [->(n) { text(grammar: 'root ::= "a"'.ljust(n, "\n")) }, 'grammar'],
  'of what nests, with the rule' => [->(n) { text(grammar: "root ::= #{'(' * (n - 1)}\"a\"#{')' * (n - 1)}") }, 'grammar'],
  'of rules called, and `$ref`' => [->(n) { text(grammar: "root ::= #{'a ' * n}\na ::= \"a\"") }, 'grammar'],
  'of a repetition or length' => [->(n) { text(grammar: "root ::= \"a\"{#{n}}") }, 'grammar']
}.freeze

# Those of which no request has exactly so many: one that has far fewer, and one that has more.
FAR = {
  'of states' => [{ type: 'string', maxLength: 1000 }, { type: 'string', maxLength: 65_536 }, 'more than 524288 states'],
  'of steps to make one' => [{ type: 'string', pattern: '^((a|b)*(a|b){4})$' }, { type: 'string', pattern: '^((a|b|c|d|e)*(a|b)(a|b|c|d){16})$' }, 'more than 67108864 steps']
}.freeze

# It is refused for this limit, or not: without a tool's template, tools are refused for that.
def over?(reply, param)
  reply.code == '400' && error_of(reply)['param'] == param && error_of(reply)['message'].match?(/at most|expected \d+ to|deeper than|limit|choices in all/)
end

def check_rows(uri)
  listed = File.read(File.join(SOURCE, 'docs/http.md'))[/^### Of a request\n.*?\n\n(?=#)/m].to_s.scan(/^\| ([^|]+) \| ([\d,]+) \|/).to_h { |w, n| [w, n.delete(',').to_i] }
  check("each has its row: #{listed.keys - ROWS.keys - FAR.keys - ['of steps to render one']}", listed.keys.sort == (ROWS.keys + FAR.keys + ['of steps to render one']).sort)
  ROWS.each do |words, (make, param)|
    number = listed[words] or next
    within, beyond = [number, words == 'choices of all prompts' ? number + 16 : number + 1].map { |n| ask(uri, 'POST', *make.(n)) }
    check("#{words}, #{number}: #{within.code} #{within.body[0, 200]}", within.code == '200' || (words.match?(/tool|kwargs/) && !over?(within, param)))
    check("#{words}, beyond #{number}: #{beyond.code} #{beyond.body[0, 200]}", over?(beyond, param))
  end
  FAR.each do |words, (less, more, why)|
    within, beyond = [less, more].map { |s| ask(uri, 'POST', *chat(response_format: { type: 'json_schema', json_schema: { name: 'x', schema: s } })) }
    check("#{words}: #{beyond.body[0, 200]}", within.code == '200' && beyond.code == '400' && error_of(beyond)['param'] == 'response_format' && error_of(beyond)['message'].include?(why) &&
                                              why.include?(listed[words].to_s))
  end
  check('a body', ask(uri, 'POST', '/v1/completions', { prompt: 'a' * 33_554_432, max_tokens: 1 }).code == '413')
end

def check_template(dir)
  model = marked_model(dir, 'loops', text: '{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}')
  serve(model) do |uri, _|
    reply = ask(uri, 'POST', *chat({}))
    check("a template that goes on: #{reply.code} #{reply.body}", reply.code == '400' && error_of(reply)['message'].include?('step'))
    check('and the next is answered', ask(uri, 'POST', *text({})).code == '200')
  end
end

# ---- a thousand streams ----

def resident(pid) = File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+)/, 1].to_i * 1024

# One that was asked and of which nothing is read but its head, if that comes.
def open_stream(uri, body)
  socket = TCPSocket.new(uri.host, uri.port)
  socket.write("POST /v1/completions HTTP/1.1\r\nHost: #{uri.host}\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
  socket
end

def check_idle
  n = 1000
  return puts('skipped: a thousand streams, for want of /proc') unless File.exist?('/proc/self/status')
  return puts('skipped: a thousand streams, whose memory a sanitizer changes') unless ENV['HN_SANITIZED'].to_s.empty?

  hard = Process.getrlimit(:NOFILE)[1]
  return puts("skipped: a thousand streams, for want of descriptors: #{hard}") if hard < n + 100

  Process.setrlimit(:NOFILE, [hard, n + 200].min, hard)
  serve('--parallel', '8', '--connections', (n + 20).to_s, '--threads', '1') do |uri, pid|
    ask(uri, 'POST', *text({})) # what is made once is made
    before = resident(pid)
    body = JSON.generate(prompt: 'Once upon a time', max_tokens: 450, ignore_eos: true, stream: true, seed: 1)
    sockets = n.times.map { open_stream(uri, body) }
    heads = sockets.count { |s| s.wait_readable(60) && s.readpartial(15) == 'HTTP/1.1 200 OK' }
    check("all are streams: #{heads}", heads == n)
    now = ->(word) { ask(uri, 'GET', '/metrics').body[/^hone_requests_#{word}\{model="hone-tiny"\} (\d+)/, 1].to_i }
    check("most of them idle: #{now.('waiting')} wait", 100.times.any? { now.('waiting') > 0.9 * n || !sleep(0.05) } && now.('running') == 8)
    size = resident(pid)
    check("in less than 100 MB: #{before} bytes, then #{size}", size < 100_000_000)
    check('the rest is answered', ask(uri, 'GET', '/health').code == '200')
    sockets.each(&:close)
    check('who has left has left', 200.times.any? { now.('waiting').zero? && now.('running').zero? || !sleep(0.1) })
    check('and the next is answered', ask(uri, 'POST', *text({})).code == '200')
  end
end

# ---- a byte now and then ----

def check_slow
  body = JSON.generate(prompt: 'Once', max_tokens: 2)
  head = "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n\r\n"
  serve('--head-ms', '1500', '--body-ms', '1500', '--bytes-per-second', '1000') do |uri, _|
    drip = lambda do |at_once, slowly|
      Thread.new do
        socket = TCPSocket.new(uri.host, uri.port)
        socket.write(at_once)
        slowly.each_char do |c|
          break if socket.wait_readable(0.2)

          socket.write(c)
        end
        socket.readpartial(200)
      rescue Errno::EPIPE, Errno::ECONNRESET, EOFError => e
        e.class.name
      end
    end
    threads = 20.times.map { |i| i.even? ? drip.('', head + body) : drip.(head, body) }
    codes = 15.times.map { ask(uri, 'POST', *text(max_tokens: 2)).code }
    check("the others are answered: #{codes.tally}", codes.uniq == ['200'] && threads.all?(&:alive?))
    said = threads.map(&:value)
    check("each is told: #{said.map { |s| s[0, 20] }.tally}", said.all? { |s| s.start_with?('HTTP/1.1 408') })
    fast = open_stream(uri, body)
    check('who is in time is answered', fast.readpartial(15) == 'HTTP/1.1 200 OK')
  end
end

Dir.mktmpdir do |dir|
  serve('--context', '512') { |uri, _| check_rows(uri) }
  check_template(dir)
  check_idle
  check_slow
end
close_checks
