# serve_forms.rb BUILD SOURCE: see serve_forms.sh.
require File.join(ARGV[1], 'tests/harness/serve')

SAID = [{ role: 'user', content: 'Tell me a story' }].freeze
TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }.freeze

# ---- which field a refusal is about ----

def check_params(uri)
  chat = { messages: SAID, max_tokens: 1 }
  [['/v1/chat/completions', chat.merge(reasoning_effort: 'low'), 'reasoning_effort'],
   ['/v1/chat/completions', chat.merge(enable_thinking: true), 'enable_thinking'],
   ['/v1/chat/completions', chat.merge(chat_template_kwargs: { zzz: ': a' }), 'chat_template_kwargs'],
   ['/v1/chat/completions', chat.merge(tools: [TOOL]), 'tools'],
   ['/v1/chat/completions', chat.merge(ignore_eos: true, grammar: 'root ::= "a"'), 'ignore_eos'],
   ['/v1/chat/completions', chat.merge(ignore_eos: true, response_format: { type: 'json_object' }), 'ignore_eos'],
   ['/v1/completions', { prompt: 'a', ignore_eos: true, grammar: 'root ::= "a"' }, 'ignore_eos'],
   ['/v1/responses', { input: 'a', reasoning: { effort: 'low' } }, 'reasoning'],
   ['/v1/chat/completions', chat.merge(grammar: "root ::= a\na ::= a"), 'grammar']].each do |path, body, param|
    reply = ask(uri, 'POST', path, body)
    why = error_of(reply)
    check("#{path} #{body.keys.last}: #{reply.body}", reply.code == '400' && why['param'] == param && why['message'].match?(/\A(#{param}: |GBNF: )/) &&
                                                      !why['message'].match?(/--|hn_/))
  end
  check('what it is called there', [['/v1/messages', { messages: SAID, max_tokens: 1, thinking: { type: 'enabled', budget_tokens: 1024 } }, 'thinking: '],
                                    ['/api/chat', { messages: SAID, think: true }, 'think: ']].all? do |path, body, begins|
    reply = ask(uri, 'POST', path, body)
    why = error_of(reply)
    why = why['message'] if why.is_a?(Hash)
    reply.code == '400' && (why.start_with?(begins) || warn("#{path}: #{why}"))
  end)
end

# ---- an answer that is sent back ----

def check_sent_back(uri)
  go = ->(*more) { ask(uri, 'POST', '/v1/chat/completions', { messages: SAID + more + SAID, max_tokens: 4, seed: 1, temperature: 0, recipe: true }) }
  prompt = ->(reply) { reply.code == '200' ? JSON.parse(reply.body)['recipe']['prompts'] : reply.body }
  said = ->(text) { prompt.(go.({ role: 'assistant', content: text })) }
  check('without a text', prompt.(go.({ role: 'assistant', content: nil, refusal: nil })) == said.('') && go.({ role: 'assistant', content: nil }).code == '400')
  check('as OpenAI sends one', prompt.(go.({ role: 'assistant', content: nil, refusal: nil, annotations: [] })) == said.(''))
  check('refusing', prompt.(go.({ role: 'assistant', content: nil, refusal: 'I will not' })) == said.('I will not'))
  check('beside a text', prompt.(go.({ role: 'assistant', content: 'so', refusal: 'I will not' })) == said.('so'))
  check('a user says something', go.({ role: 'user', content: nil }).code == '400')
end

# ---- paths ----

def check_paths(uri)
  { '/api/pull' => :ollama, '/api/embeddings' => :ollama, '/api/' => :ollama, '/v1/messages/batches' => :anthropic, '/v1/no' => :openai, '/apis' => :openai,
    '/v1/messages2' => :openai }.each do |path, form|
    reply = ask(uri, 'POST', path, {})
    body = JSON.parse(reply.body)
    is = body['error'].is_a?(String) ? :ollama : body['type'] == 'error' && body['error'].keys == %w[type message] ? :anthropic : :openai
    check("#{path}: #{reply.code} #{reply.body}", reply.code == '404' && is == form)
  end
  %w[/ /health /v1/models /metrics /api/version /api/tags].each do |path|
    whole, head = ask(uri, 'GET', path), Net::HTTP.start(uri.host, uri.port) { |http| http.head(path) }
    check("HEAD #{path}: #{head.code}", head.code == '200' && head['Content-Type'] == whole['Content-Type'] && head['Content-Length'] && head.body.nil? &&
                                        (path == '/metrics' || head['Content-Length'] == whole['Content-Length']))
  end
  # What comes behind one on the same connection is read from its beginning: no body was sent.
  socket = TCPSocket.new(uri.host, uri.port)
  socket.write("HEAD /health HTTP/1.1\r\nHost: #{uri.host}\r\n\r\nGET /health HTTP/1.1\r\nHost: #{uri.host}\r\nConnection: close\r\n\r\n")
  said = socket.read
  check("two of a connection: #{said}", said.scan('HTTP/1.1 200').size == 2 && said.scan('{"status":"ok"}').size == 1)
  not_there = Net::HTTP.start(uri.host, uri.port) { |http| http.head('/v1/chat/completions') }
  check('HEAD of what is asked by POST', not_there.code == '405' && not_there['Allow'] == 'POST' && not_there.body.nil?)
end

Dir.mktmpdir do |_dir|
  serve do |uri, _|
    check_params(uri)
    check_paths(uri)
    check_sent_back(uri)
  end
end
close_checks
