# serve_forms.rb BUILD SOURCE: see serve_forms.sh.
require 'digest'
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

# A field that is not known, or asks for what is not done, is refused within objects too, by the way to it.
def check_nested(uri)
  with = ->(more) { [TOOL.merge(more)] }
  named = ->(more) { { type: 'function', function: { name: 'f' }.merge(more) } }
  chat, response, message = ['/v1/chat/completions', 'messages'], ['/v1/responses', 'input'], ['/v1/messages', 'messages']
  own = { type: 'function', name: 'f', parameters: { type: 'object' } }
  mine = { name: 'f', input_schema: { type: 'object' } }
  [[chat, { tools: with.(more: 1) }, 'tools[0].more'], [chat, { tools: with.(custom: {}) }, 'tools[0].custom'],
   [chat, { tools: [named.(strict: 'yes')] }, 'tools[0].function.strict'], [chat, { tools: [named.(more: 1)] }, 'tools[0].function.more'],
   [chat, { tools: [TOOL], tool_choice: named.(more: 1) }, 'tool_choice.function.more'], [chat, { tools: [TOOL], tool_choice: named.({}).merge(more: 1) }, 'tool_choice.more'],
   [chat, { tools: [TOOL], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named.({})], more: 1 } } }, 'tool_choice.allowed_tools.more'],
   [response, { tools: [own.merge(defer_loading: true)] }, 'tools[0].defer_loading'], [response, { tools: [own.merge(allowed_callers: ['programmatic'])] }, 'tools[0].allowed_callers'],
   [response, { tools: [own], tool_choice: { type: 'function', name: 'f', more: 1 } }, 'tool_choice.more'],
   [message, { tools: [mine.merge(input_examples: [{}])] }, 'tools[0].input_examples'], [message, { tools: [mine], tool_choice: { type: 'auto', more: 1 } }, 'tool_choice.more'],
   [message, { thinking: { type: 'enabled', budget_tokens: 9, display: 'omitted' } }, 'thinking.display'], [message, { thinking: { type: 'adaptive', more: 1 } }, 'thinking.more'],
   [message, { output_config: { more: 1 } }, 'output_config.more'],
   [message, { output_config: { format: { type: 'json_schema', schema: {}, more: 1 } } }, 'output_config.format.more'],
   [chat, { tools: [TOOL], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [TOOL.merge(function: { name: 'f' }), named.({}).merge(more: 1)] } } }, 'tool_choice.allowed_tools.tools[1].more'],
   [chat, { tools: [TOOL], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named.(more: 1)] } } }, 'tool_choice.allowed_tools.tools[0].function.more'],
   [response, { tools: [own], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f', more: 1 }] } }, 'tool_choice.tools[0].more'],
   [message, { tools: [mine.merge(cache_control: { type: 'ephemeral', ttl: '2h' })] }, 'tools[0].cache_control.ttl'], [message, { cache_control: { more: 1 } }, 'cache_control.more'],
   [message, { metadata: { user_id: 'a', more: 1 } }, 'metadata.more'], [chat, { metadata: { a: 1 } }, 'metadata'], [response, { metadata: { a: 'b' * 513 } }, 'metadata'],
   [message, { system: [{ type: 'text', text: 'a', more: 1 }] }, 'system[0].more']].each do |(path, field), more, param|
    reply = ask(uri, 'POST', path, { field => SAID, path == '/v1/responses' ? :max_output_tokens : :max_tokens => 16 }.merge(more))
    why = error_of(reply)
    check("#{path} #{param}: #{reply.body}", reply.code == '400' && why['message'].start_with?("#{param}: ") && (!why.key?('param') || why['param'] == param))
  end
end

# What is said: by the way to it, too.
def check_within(uri)
  said = ->(*parts) { { role: 'user', content: parts } }
  text, call = { type: 'text', text: 'a' }, { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  calls = ->(c) { { role: 'assistant', content: 'a', tool_calls: [call, c] } }
  item = ->(of) { { role: 'user', content: [{ type: 'input_text', text: 'a' }] }.merge(of) }
  block = ->(of) { [{ role: 'user', content: [text, of] }] }
  by_model = ->(of) { SAID + [{ role: 'assistant', content: [of] }] + SAID }
  used, result = { type: 'tool_use', id: 'a', name: 'f', input: {} }, { type: 'tool_result', tool_use_id: 'a', content: [text] }
  known = { '/v1/chat/completions' => [:messages, :max_tokens], '/apply-template' => [:messages], '/v1/responses' => [:input, :max_output_tokens],
            '/v1/messages' => [:messages, :max_tokens], '/v1/messages/count_tokens' => [:messages], '/api/chat' => [:messages] }
  [['/v1/chat/completions', SAID + [{ role: 'user', content: 'a', more: 1 }], 'messages[1].more'], ['/v1/chat/completions', [said.(text, text.merge(more: 1))], 'messages[0].content[1].more'],
   ['/v1/chat/completions', SAID + [calls.(call.merge(more: 1))] + SAID, 'messages[1].tool_calls[1].more'], ['/v1/chat/completions', SAID + [calls.(call.merge(custom: {}))] + SAID, 'messages[1].tool_calls[1].custom'],
   ['/v1/chat/completions', SAID + [calls.(call.merge(function: { name: 'f', arguments: '{}', more: 1 }))] + SAID, 'messages[1].tool_calls[1].function.more'],
   ['/v1/chat/completions', SAID + [{ role: 'assistant', content: 'a', audio: { id: 'b' } }] + SAID, 'messages[1].audio'], ['/v1/chat/completions', SAID + [{ role: 'assistant', content: 'a', function_call: { name: 'f' } }] + SAID, 'messages[1].function_call'],
   ['/v1/chat/completions', [{ role: 'user', content: 1 }], 'messages[0].content'], ['/apply-template', [{ role: 'user', content: 'a', more: 1 }], 'messages[0].more'],
   ['/v1/responses', [item.(more: 1)], 'input[0].more'], ['/v1/responses', [item.({}), item.(content: [{ type: 'input_text', text: 'a', more: 1 }])], 'input[1].content[0].more'],
   ['/v1/responses', [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', namespace: 'n' }], 'input[0].namespace'],
   ['/v1/responses', [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', caller: { type: 'program' } }], 'input[0].caller.type'],
   ['/v1/responses', [{ type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'a', more: 1 }] }], 'input[0].output[0].more'],
   ['/v1/responses', [{ type: 'reasoning', summary: [], encrypted_content: 'x' }], 'input[0].encrypted_content'], ['/v1/responses', [{ type: 'item_reference', id: 'a', more: 1 }], 'input[0].more'],
   ['/v1/messages', [{ role: 'user', content: 'a', more: 1 }], 'messages[0].more'], ['/v1/messages', block.(text.merge(more: 1)), 'messages[0].content[1].more'],
   ['/v1/messages', block.(text.merge(cache_control: { type: 'ephemeral', ttl: '1d' })), 'messages[0].content[1].cache_control.ttl'],
   ['/v1/messages', block.(result.merge(more: 1)), 'messages[0].content[1].more'], ['/v1/messages', block.(result.merge(content: [text, text.merge(more: 1)])), 'messages[0].content[1].content[1].more'],
   ['/v1/messages', by_model.(used.merge(toolset_name: 't')), 'messages[1].content[0].toolset_name'], ['/v1/messages', by_model.(used.merge(caller: { type: 'server' })), 'messages[1].content[0].caller.type'],
   ['/v1/messages', by_model.({ type: 'thinking', thinking: 'a', more: 1 }), 'messages[1].content[0].more'], ['/v1/messages/count_tokens', [{ role: 'user', content: 'a', more: 1 }], 'messages[0].more'],
   ['/api/chat', [{ role: 'user', content: 'a', more: 1 }], 'messages[0].more'], ['/api/chat', [{ role: 'user', content: 'a', images: ['b'] }], 'messages[0].images'],
   ['/api/chat', SAID + [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] }], 'messages[1].tool_calls[0].function.arguments']].each do |path, list, param|
    field, limit = known[path]
    reply = ask(uri, 'POST', path, { field => list }.merge(limit ? { limit => 16 } : {}))
    why = error_of(reply)
    why = { 'message' => why } if why.is_a?(String)
    check("#{path} #{param}: #{reply.body}", reply.code == '400' && why['message'].start_with?("#{param}: ") && (!why.key?('param') || why['param'] == param))
  end
end

# What a field's row bounds is bounded, and what it is not for is not read past.
def check_bounded(uri)
  own, mine = { type: 'function', name: 'f', parameters: { type: 'object' } }, { name: 'f', input_schema: { type: 'object' } }
  allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] }
  response = ->(more) { ['/v1/responses', { input: 'a', max_output_tokens: 16 }.merge(more)] }
  message = ->(more) { ['/v1/messages', { messages: SAID, max_tokens: 16 }.merge(more)] }
  chat = ->(more) { ['/v1/chat/completions', { messages: SAID, max_tokens: 4 }.merge(more)] }
  text = ->(format) { response.(text: { format: format }) }
  raw = ->(more) { ['/api/generate', { prompt: 'a', raw: true }.merge(more)] }
  load = ->(more) { ['/api/generate', more] }
  [[text.(type: 'json_schema'), 'text.format.schema'], [text.(type: 'text', schema: {}), 'text.format.schema'], [text.(schema: {}), 'text.format.schema'], [text.({}), 'text.format.type'],
   [response.(stream_options: { more: true }), 'stream_options.more'], [response.(tools: [own], tool_choice: { type: 'function', name: 'f', mode: 'auto' }), 'tool_choice.mode'],
   [response.(tools: [own], tool_choice: { type: 'function', name: 'f', tools: [] }), 'tool_choice.tools'], [response.(tools: [own], tool_choice: allowed.merge(name: 'f')), 'tool_choice.name'],
   [chat.(response_format: { type: 'json_schema', json_schema: { name: 'a' } }), 'response_format.json_schema.schema'], [chat.(documents: [{ text: 'a' }]), 'documents'],
   [chat.(tools: [TOOL], tool_choice: { type: 'function', function: { name: 'f' }, allowed_tools: { mode: 'auto', tools: [] } }), 'tool_choice.allowed_tools'],
   [['/apply-template', { messages: SAID, documents: [{ text: 'a' }] }], 'documents'], [chat.(model: ''), 'model'],
   [message.(recipe: true, stream: true), 'recipe'], [message.(thinking: { type: 'adaptive', budget_tokens: 3 }), 'thinking.budget_tokens'],
   [message.(thinking: { type: 'disabled', budget_tokens: 3 }), 'thinking.budget_tokens'], [message.(tools: [mine], tool_choice: { type: 'auto', name: 'f' }), 'tool_choice.name'],
   [raw.(think: true), 'think'], [raw.(system: 'a'), 'system'], [load.(format: 'xml'), 'format'], [load.(think: true), 'think'], [load.(recipe: true), 'recipe'],
   [['/api/chat', { format: { type: 'object', more: 1 } }], 'JSON schema'], [['/api/chat', { messages: [], think: false }], 'think'],
   [['/api/embed', { input: 'a', options: { more: 1 } }], 'options.more'], [['/api/show', { model: 'hone-tiny', name: 'other' }], 'name'],
   [['/api/show', { model: '' }], 'model']].each do |(path, body), param|
    reply = ask(uri, 'POST', path, body)
    why = reply.code == '400' ? error_of(reply) : nil
    why = { 'message' => why } if why.is_a?(String)
    check("#{path} #{body}: #{reply.code} #{reply.body[0, 300]}", reply.code == '400' && why && why['message'].start_with?("#{param}: ") && (!why.key?('param') || why['param'] == param))
  end
  [response.(stream_options: { include_obfuscation: false }, stream: true), message.(stream: true), raw.(system: ''), load.(format: 'json'), ['/api/show', { model: 'hone-tiny', name: 'hone-tiny' }],
   ['/api/show', { name: 'hone-tiny' }]].each { |path, body| check("#{path} #{body}", ask(uri, 'POST', path, body).code == '200') }
  check('another by its old name', ask(uri, 'POST', '/api/show', { name: 'other' }).code == '404')
end

# Ollama's num_ctx is of a prompt and its answer together, and no more than the model has here, told or not.
def check_num_ctx(uri)
  has = get(uri, '/slots')[1][0]['n_ctx']
  go = ->(path, context, **more) { ask(uri, 'POST', path, { stream: false, options: { num_ctx: context, seed: 1, num_predict: 500 } }.merge(more)) }
  { '/api/chat' => { messages: SAID }, '/api/generate' => { prompt: 'Tell me a story' } }.each do |path, said|
    [has + 1, 4097, 100_000].each do |n|
      check("#{path} of #{n}", [said, {}].all? { |more| (r = go.(path, n, **more)).code == '400' && error_of(r).start_with?("options.num_ctx: the context of hone-tiny is #{has}, found #{n}") })
    end
    check("#{path}: all of it", [said, {}].all? { |more| go.(path, has, **more).code == '200' })
    check("#{path}: a prompt beyond it", (r = go.(path, 1, **said)).code == '400' && error_of(r).include?("the request's maximum context length is 1 "))
    whole, part = [has, 40].map { |n| JSON.parse(go.(path, n, **said).body) }
    texts = [whole, part].map { |a| a['response'] || a['message']['content'] }
    check("#{path} ends there: #{part}", part['prompt_eval_count'] + part['eval_count'] == 40 && part['done_reason'] == 'length' && texts[0].start_with?(texts[1]) && !texts[1].empty?)
  end
end

def chat_with(fields) = ['/v1/chat/completions', { messages: SAID, max_tokens: 1 }.merge(fields)]

# A path whose query has no table takes none.
def check_queries(uri)
  [['POST', '/v1/completions?model=zz', { prompt: 'a', max_tokens: 1 }, 'model'], ['POST', '/v1/chat/completions?n=2', { messages: SAID, max_tokens: 1 }, 'n'], ['GET', '/v1/models?more=1', nil, 'more'],
   ['GET', '/v1/models/hone-tiny?more=1', nil, 'more'], ['GET', '/metrics?more=1', nil, 'more'], ['GET', '/props?more=1', nil, 'more'],
   ['POST', '/tokenize?more=1', { content: 'a' }, 'more'], ['POST', '/v1/messages?more=1', { messages: SAID, max_tokens: 1 }, 'more'], ['POST', '/api/chat?more=1', {}, 'more'],
   ['GET', '/api/tags?more', nil, 'more'], ['POST', '/api/show?model=a', {}, 'model'], ['GET', '/v1/models?%zz=1', nil, 'the query']].each do |method, path, body, field|
    reply = ask(uri, method, path, body)
    check("#{method} #{path}: #{reply.code}", reply.code == '400' && reply.body.include?("\"#{field}: "))
  end
  %w[/v1/messages /v1/messages/count_tokens].each do |path|
    check("#{path} of Anthropic's clients", ask(uri, 'POST', "#{path}?beta=true", { messages: SAID }.merge(path.end_with?('s') && path.count('/') == 2 ? { max_tokens: 1 } : {})).code == '200')
  end
  # What needs no key is told whatever a browser or a probe adds.
  %w[/health?more=1 /?v=2 /api/version?more=1 /v1/models?limit=20&after_id=a].each { |path| check(path, ask(uri, 'GET', path).code == '200') }
  [chat_with(documents: []), ['/v1/responses', { input: 'a', max_output_tokens: 1, stream: true, stream_options: { include_usage: true } }],
   ['/api/generate', { prompt: 'a', raw: true, think: false, options: { num_predict: 1 } }],
   ['/api/show', { model: 'hone-tiny', name: '' }]].each { |path, body| check("#{path} #{body}", ask(uri, 'POST', path, body).code == '200') }
  check('none', %w[/v1/models? /health?].all? { |path| ask(uri, 'GET', path).code == '200' })
  check('another method', ask(uri, 'DELETE', '/props?more=1').code == '405')
end

# ---- an answer that is sent back ----

def check_sent_back(uri)
  go = ->(*more) { ask(uri, 'POST', '/v1/chat/completions', { messages: SAID + more + SAID, max_tokens: 4, seed: 1, temperature: 0, recipe: true }) }
  prompt = ->(reply) { reply.code == '200' ? JSON.parse(reply.body)['recipe']['prompts'] : reply.body }
  said = ->(text) { prompt.(go.({ role: 'assistant', content: text })) }
  check('without a text', prompt.(go.({ role: 'assistant', content: nil, refusal: nil })) == said.('') && go.({ role: 'assistant', content: nil }).code == '400')
  check('as OpenAI\'s own clients send one back', prompt.(go.({ role: 'assistant', content: 'so', refusal: nil, annotations: [], audio: nil, function_call: nil, tool_calls: nil })) == said.('so') &&
                                               prompt.(go.({ role: 'assistant', content: [{ type: 'text', text: 'so', cache_control: { type: 'ephemeral' } }], annotations: [{ type: 'url_citation' }] })) == said.('so') &&
                                               prompt.(go.({ role: 'assistant', content: [{ type: 'refusal', refusal: 'so' }] })) == said.('so'))
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

# ---- Ollama's loading ----

def check_loading(dir)
  llama, qwen = %w[llama qwen3].map { |m| File.join(MODELS, m) }
  state = ->(uri) { ask(uri, 'GET', '/metrics').body.scan(/^hone_model_loaded\{model="(\w+)"\} 1/).flatten }
  serve("a=#{llama}", "b=#{qwen}", '--models-max', '1') do |uri, _|
    load = ->(path, body) { (r = ask(uri, 'POST', path, body)) && [r.code, JSON.parse(r.body)] }
    code, said = load.('/api/generate', { model: 'b' })
    check("loaded: #{said}", code == '200' && said['done'] == true && said['done_reason'] == 'load' && said['response'] == '' && state.(uri) == ['b'])
    code, said = load.('/api/chat', { model: 'a', messages: [], keep_alive: '5m0s' })
    check("by a chat: #{said}", code == '200' && said['done_reason'] == 'load' && said['message'] == { 'role' => 'assistant', 'content' => '' } && state.(uri) == ['a'])
    check('another stays away', load.('/api/generate', { model: 'b', keep_alive: 0 }).then { |c, s| c == '200' && s['done_reason'] == 'unload' } && state.(uri) == ['a'])
    { '/api/chat' => '0s', '/api/generate' => 0 }.each do |path, keep|
      before = ask(uri, 'POST', '/v1/completions', { model: 'a', prompt: [5, 6], max_tokens: 3, seed: 1 })
      code, said = load.(path, { model: 'a', keep_alive: keep })
      check("put away: #{said}", code == '200' && said['done_reason'] == 'unload' && state.(uri) == [] && JSON.parse(ask(uri, 'GET', '/api/ps').body)['models'] == [])
      after = ask(uri, 'POST', '/v1/completions', { model: 'a', prompt: [5, 6], max_tokens: 3, seed: 1 })
      check('and back', JSON.parse(after.body)['choices'] == JSON.parse(before.body)['choices'] && state.(uri) == ['a'])
    end
    check('what is none', load.('/api/generate', { model: 'no' })[0] == '404' && load.('/api/chat', { model: 'a', messages: [], zzz: 1 })[0] == '400')
    tags = JSON.parse(ask(uri, 'GET', '/api/tags').body)['models']
    bytes = [llama, qwen].map { |f| File.size(File.join(f, 'model.safetensors')) }
    check("sizes and digests: #{tags}", tags.map { |m| m['size'] } == bytes && tags.map { |m| m['digest'] }.then { |d| d.uniq.size == 2 && d.all?(/\A\h{64}\z/) })
    recipe = JSON.parse(ask(uri, 'POST', '/v1/completions', { model: 'a', prompt: [5], max_tokens: 1, recipe: true }).body)['recipe']
    loaded = JSON.parse(ask(uri, 'GET', '/api/ps').body)['models']
    check("what is loaded: #{loaded}", loaded.size == 1 && loaded[0]['digest'] == recipe['weights'] && (loaded[0]['size_vram'] == 0) == ENV.fetch('HN_TEST_DEVICES', 'cpu').include?('cpu') && loaded[0]['expires_at'] == '9999-12-31T23:59:59Z')
  end
  serve { |uri, _| check('the one that is built in has a size', JSON.parse(ask(uri, 'GET', '/api/tags').body)['models'][0]['size'] > 100_000) }
  keys = File.join(dir, 'keys')
  File.write(keys, "ann secret-of-ann-12345\nops secret-of-ops-12345 admin\n", perm: 0o600)
  serve("a=#{llama}", '--api-keys', keys) do |uri, _|
    by = ->(who, body) { ask(uri, 'POST', '/api/generate', body, 'Authorization' => "Bearer secret-of-#{who}-12345").code }
    check('putting away takes the right', [by.('ann', { keep_alive: 0 }), by.('ann', {}), by.('ops', { keep_alive: 0 })] == %w[403 200 200])
  end
end

# ---- names ----

def check_aliases(dir)
  llama, adapter = File.join(MODELS, 'llama'), File.join(dir, 'x.gguf')
  system(HONE, 'import', File.join(SOURCE, 'tests/differential/adapters/llama'), adapter, '--base', llama, out: File::NULL, err: File::NULL)
  memory = ->(uri) { ask(uri, 'GET', '/metrics').body[/^hone_memory_bytes (\d+)/, 1].to_i }
  alone = nil
  serve("a=#{llama}", '--lora', "x=#{adapter}") { |uri, _| alone = memory.(uri) }
  serve("a=#{llama}", "b=#{File.join(MODELS, 'qwen3')}", '--alias', 'gpt-4o=a', '--alias', 'small=b', '--alias', 'big=a', '--lora', "gpt-4o:x=#{adapter}", '--models-max', '1') do |uri, _|
    list = JSON.parse(ask(uri, 'GET', '/v1/models').body)['data']
    check("all are told: #{list}", list.map { |m| [m['id'], m['root']] } == [['a', nil], ['a:x', nil], ['b', nil], %w[gpt-4o a], %w[small b], %w[big a]])
    single = ->(name) { JSON.parse(ask(uri, 'GET', "/v1/models/#{name}").body) }
    check('each by its name', list.all? { |m| single.(m['id']).except('contract') == m })
    contract = single.('gpt-4o:x')['contract']
    check("an adapter with its contract: #{contract}", contract == single.('a:x')['contract'] && contract['sha256'] == Digest::SHA256.file(adapter).hexdigest && contract['scale'] == 1 &&
                                                      !contract['is_tried'] && contract.values_at('base', 'kl', 'steps', 'last_loss', 'data').none?)
    check('a model has none', !single.('a').key?('contract') && ask(uri, 'GET', '/v1/models/a:y').code == '404')
    go = ->(m) { (r = ask(uri, 'POST', '/v1/completions', { model: m, prompt: [5, 6, 7], max_tokens: 6, seed: 1 })).code == '200' ? JSON.parse(r.body)['choices'] : r.code }
    check('the same is said', [go.('gpt-4o'), go.('big'), go.('gpt-4o:latest')].uniq == [go.('a')] && go.('gpt-4o:x') == go.('a:x') && go.('a:x') != go.('a'))
    check('by Ollama too', JSON.parse(ask(uri, 'GET', '/api/tags').body)['models'].map { |m| m['name'] } == %w[a a:x b gpt-4o small big] &&
                           JSON.parse(ask(uri, 'GET', '/api/ps').body)['models'].map { |m| m['name'] } == %w[a a:x gpt-4o big])
    ask(uri, 'POST', '/v1/completions', { model: 'b', prompt: [5], max_tokens: 1 })
    check('one whose model is away was held to nothing yet', single.('a:x').fetch('contract').nil?)
    check('and is when it is back', go.('a:x') != '404' && single.('a:x')['contract'] == contract)
    check("and loaded once: #{memory.(uri)}, alone #{alone}", memory.(uri) < 1.5 * alone)
    check('no more than these', go.('gpt-4') == '404' && go.('gpt-4o:y') == '404')
  end
  { %w[a=b] => 'two models of this name', %w[c=no] => 'no model no', %w[c] => 'NAME=MODEL', %w[=a] => 'NAME=MODEL', ['c d=a'] => 'without blank', ["#{'c' * 200}=a"] => 'at most 127',
    %w[c=a --alias c=b] => 'two models of this name' }.each { |words, why| refused(["a=#{llama}", "b=#{llama}", '--alias', *words], why) }
end

# ---- what is harmless ----

# It does not come as far as the template.
def check_harmless(dir)
  call = { id: 'c', type: 'function', index: 0, function: { name: 'f', arguments: '{"n": 1}' } }
  said = SAID + [{ role: 'assistant', content: 'so', reasoning: 'hm', annotations: [{ a: 1 }], tool_calls: [call] }]
  serve(marked_model(dir, 'all', text: '{{ messages | tojson }}')) do |uri, _|
    told = JSON.parse(JSON.parse(ask(uri, 'POST', '/apply-template', { messages: said }).body)['prompt'])
    check("of a chat: #{told}", told[1] == { 'thinking' => 'hm', 'role' => 'assistant', 'content' => 'so', 'reasoning' => 'hm', 'reasoning_content' => 'hm',
                                             'tool_calls' => [{ 'id' => 'c', 'type' => 'function', 'function' => { 'name' => 'f', 'arguments' => { 'n' => 1 } } }] })
  end
end

# ---- calls of a template that is not known ----

SCHEMA = { type: 'object', properties: { n: { type: 'integer', minimum: 3, maximum: 17 } }, required: %w[n], additionalProperties: false }.freeze

def check_calls(dir)
  model = marked_model(dir, 'unknown', text: '{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}')
  tools = [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }]
  go = ->(uri, **more) { ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, tools: tools, max_tokens: 200, seed: 1, recipe: true }.merge(more)) }
  serve(model) do |uri, _|
    reply = go.(uri)
    check("not without being asked: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'tools' && error_of(reply)['message'].include?('--calls json'))
  end
  serve(model, '--calls', 'json') do |uri, _|
    whole = JSON.parse(go.(uri, tool_choice: 'required').body)
    call = whole.dig('choices', 0, 'message', 'tool_calls', 0, 'function') || {}
    check("a call: #{whole}", call['name'] == 'look' && (3..17).cover?(JSON.parse(call['arguments'])['n']) && whole['choices'][0]['finish_reason'] == 'tool_calls')
    check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero? && whole['recipe']['calls'] == 'json')
    check("or a text: #{(r = go.(uri)).body}", r.code == '200')
    check('nothing of it without tools', JSON.parse(go.(uri, tools: nil).body)['recipe']['calls'].nil?)
  end
  refused([model, '--calls', 'no'], "--calls: family: expected harmony, deepseek-v4")
end

# ---- metrics ----

# Names, kinds, labels and words are those that the docs list: who draws them keeps his pictures.
def check_metrics(dir)
  rows = File.read(File.join(SOURCE, 'docs/http.md')).scan(/^\| `(hone_\w+)` \| (\w+) \| (?:`(\w+)`)? ?\| (.*) \|$/)
  check('the docs list them', rows.size > 20)
  told = lambda do |uri|
    kinds, helps, values = {}, {}, Hash.new { |h, k| h[k] = [] }
    ask(uri, 'GET', '/metrics').body.each_line(chomp: true) do |line|
      case line
      when /\A# TYPE (\w+) (counter|gauge)\z/ then kinds[$1] = $2
      when /\A# HELP (\w+) (.*)\z/ then helps[$1] = $2
      when /\A(\w+)(?:\{(\w+)="([^"]*)"\})? \d+\z/ then values[$1] << [$2, $3]
      else check("a line of another kind: #{line}", false)
      end
    end
    [kinds, helps, values]
  end
  words = ["a=#{MODELS}/llama", "b=#{MODELS}/qwen3", '--alias', 'c=a', '--models-max', '1']
  serve(*words, '--cache-disk', File.join(dir, 'metrics')) do |uri, _|
    ask(uri, 'GET', '/health')
    kinds, helps, values = told.(uri)
    check("each as it is listed: #{(rows.map { |n, *| n } - kinds.keys) + (kinds.keys - rows.map { |n, *| n })}", rows.map { |n, kind, _, _| [n, kind] } == kinds.to_a)
    check('in these words', rows.map { |n, _, _, help| [n, help] } == helps.to_a)
    rows.each do |name, _, label, _|
      want = { nil => [[nil, nil]], 'model' => [%w[model a], %w[model b]], 'status' => [%w[status 200]] }[label]
      check("#{name}: #{values[name]}", values[name] == want)
    end
  end
  serve(*words) { |uri, _| check('without a disk', told.(uri)[0].keys == rows.map { |n, *| n }.grep_v(/cache_disk/)) }
end

# ---- what runs: as llama.cpp's clients read it ----

def get(uri, path, fields = {}) = ask(uri, 'GET', path, nil, fields).then { |r| [r.code, JSON.parse(r.body)] }

# What is found while one asks again and again.
def while_asked(uri, body)
  is_found = false
  asks = Thread.new { ask(uri, 'POST', '/v1/completions', body) until is_found }
  found = (1..3000).lazy.map { yield }.find(&:itself)
  is_found = true
  asks.join
  found
end

LONG = { model: 'a:x', prompt: [5, 6, 7, 8, 9], max_tokens: 200, ignore_eos: true, stream: true, seed: 17, temperature: 0.5, top_k: 9, top_p: 0.75, min_p: 0.125, logprobs: 2,
         repetition_penalty: 1.25, repeat_last_n: 33, frequency_penalty: 0.5, presence_penalty: -0.5 }.freeze
DRAWN = { 'seed' => 17, 'max_tokens' => 200, 'n_predict' => 200, 'temperature' => 0.5, 'top_k' => 9, 'top_p' => 0.75, 'min_p' => 0.125, 'repeat_last_n' => 33,
          'repeat_penalty' => 1.25, 'frequency_penalty' => 0.5, 'presence_penalty' => -0.5, 'n_probs' => 2, 'ignore_eos' => true, 'stream' => true }.freeze

def check_taken(slots)
  slot, next_token = slots[0], slots[0]['next_token'][0]
  check("one is taken: #{slots}", slots.map { |s| s['is_processing'] } == [true, false] && slot['params'] == DRAWN)
  check('of whom', [slot['model'], slot['adapter'], slot['id'], slot['n_ctx']] == ['a', 'x', 0, 256] && slot['id_task'].is_a?(Integer))
  check('its prompt', [slot['n_prompt_tokens'], slot['n_prompt_tokens_processed'], slot['n_prompt_tokens_cache']] == [5, 5, 0])
  check('how far it is', next_token['n_decoded'] >= 3 && next_token['n_decoded'] + next_token['n_remain'] == 200 && next_token['has_next_token'] == true)
  check('no word of it', slots.to_s !~ /text|content|"prompt"|ids/ && slots[1].keys == %w[id model n_ctx speculative is_processing])
end

def check_slots(dir)
  llama, keys = File.join(MODELS, 'llama'), File.join(dir, 'slot-keys')
  serve("a=#{llama}", '--lora', "x=#{File.join(dir, 'x.gguf')}", '--parallel', '2') do |uri, _|
    check('none is taken', get(uri, '/slots')[1].map { |s| s['is_processing'] } == [false, false])
    taken = while_asked(uri, LONG) { get(uri, '/slots')[1].then { |slots| slots if (slots[0].dig('next_token', 0, 'n_decoded') || 0) >= 3 } }
    check('one is seen', taken)
    check_taken(taken) if taken
    check('and free again', 200.times.any? { get(uri, '/slots')[1].none? { |s| s['is_processing'] } || !sleep(0.05) })
    check('of one model', get(uri, '/slots?model=a')[1].size == 2 && get(uri, '/slots?model=b')[0] == '404' && get(uri, '/slots?prompt=1')[0] == '400')
    code, props = get(uri, '/props')
    check("what there is: #{props.except('chat_template')}", code == '200' && props['total_slots'] == 2 && props['model_alias'] == 'a' && props['model_path'] == 'llama' &&
          props.dig('default_generation_settings', 'n_ctx') == 256 && props['modalities'] == { 'vision' => false, 'audio' => false } && props['endpoint_slots'] == true)
    check('what is drawn by', props.dig('default_generation_settings', 'params').values_at('temperature', 'top_k', 'top_p', 'n_predict') == [1, 0, 1, -1])
    check("its tokens: #{props['bos_token']}", props['bos_token'] == '<s>' && props['eos_token'] == '</s>' && props['chat_template'] == '')
    check('of what there is not', get(uri, '/props?model=b')[0] == '404' && get(uri, '/props?zzz=b')[0] == '400')
  end
  text = '{% for m in messages %}{{ m.content }}{% endfor %}.'
  serve("a=#{marked_model(dir, 'props', text: text)}", "b=#{llama}", '--models-max', '1') do |uri, _|
    props = get(uri, '/props')[1]
    check("its template: #{props['chat_template']}", props['chat_template'] == text && props['chat_template_digest'].match?(/\A\h{64}\z/) && props['is_sleeping'] == false)
    away = get(uri, '/props?model=b')[1]
    check("one that is away: #{away}", away['is_sleeping'] == true && away['default_generation_settings'].nil? && away['model_alias'] == 'b' && away['total_slots'] == 8)
  end
  File.write(keys, "ann secret-of-ann-12345\nops secret-of-ops-12345 admin\n", perm: 0o600)
  serve("a=#{llama}", '--parallel', '1', '--draft-ngram', '3') do |uri, _|
    check('one that is free', get(uri, '/slots?fail_on_no_slot=1')[0] == '200')
    said = while_asked(uri, LONG.merge(model: 'a')) { get(uri, '/slots?fail_on_no_slot=1').then { |code, body| body if code == '503' } }
    check("none is: #{said}", said && said['error']['code'] == 'no_slot_available' && get(uri, '/slots')[1][0]['speculative'] == true)
  end
  serve("a=#{llama}", '--api-keys', keys) do |uri, _|
    as = ->(who) { get(uri, '/slots', 'Authorization' => "Bearer secret-of-#{who}-12345")[0] }
    check('it takes the right', [as.('ann'), as.('ops')] == %w[403 200])
  end
end

# ---- a draft model ----

# One that draws as the model does is right each time, also where it is drawn; another is not; the same is said.
def check_drafts(dir)
  llama, mixtral, qwen = %w[llama mixtral qwen3].map { |m| File.join(MODELS, m) }
  body = { prompt: [5, 6, 7], max_tokens: 60, seed: 3, temperature: 1.0, frequency_penalty: 0.25, logit_bias: { '9' => 3 }, logprobs: 1, recipe: true }
  go = lambda do |*words|
    found = nil
    serve(*words) do |uri, _|
      said = JSON.parse(ask(uri, 'POST', '/v1/completions', body).body)
      count = -> { ask(uri, 'GET', '/metrics').body.scan(/^hone_drafts_(?:accepted|rejected)_total\{model="a"\} (\d+)/).flatten.map(&:to_i) }
      20.times { count.().sum.zero? && sleep(0.02) } # they are told after the step in which the answer was
      found = [said['choices'], count.(), get(uri, '/slots')[1][0]['speculative'], said]
    end
    found
  end
  tiny, itself = go.('a=hone:tiny'), go.('a=hone:tiny', '--draft', 'hone:tiny', '--draft-max', '4')
  check('the same is said', tiny[0].is_a?(Array) && itself[0] == tiny[0])
  check("one that draws alike is right: #{itself[1]}", itself[1][0] > 20 && itself[1][1] < 5 && itself[2] == true && tiny[1] == [0, 0] && tiny[2] == false)
  plain, other = go.("a=#{llama}"), go.("a=#{llama}", "b=#{qwen}", '--draft', "a=#{mixtral}", '--draft-numerics', 'f32')
  check('by another too', other[0] == plain[0])
  check("which is wrong: #{other[1]}", other[1][1].positive?)
  check('made again', replay(dir, other[3], llama)[0].zero?)
  refused(["a=#{llama}", '--draft', 'hone:tiny'], 'the draft model')
  refused(["a=#{llama}", '--draft', "b=#{llama}"], '--draft b=')
  refused(["a=#{llama}", '--draft', llama, '--draft', "a=#{llama}"], 'a has one')
  refused(["a=#{llama}", '--draft-max', '4'], '--draft-max: it is for --draft')
  refused(["a=#{llama}", '--draft-ngram', '4', '--draft-numerics', 'f32'], '--draft-numerics: it is for --draft')
end

# ---- a model's file that is replaced ----

def check_replaced(dir)
  model = File.join(dir, 'model')
  FileUtils.cp_r(File.join(MODELS, 'llama'), model)
  FileUtils.chmod_R('u+w', model)
  file = File.join(model, 'model.safetensors')
  serve("a=#{model}", "b=#{File.join(MODELS, 'qwen3')}", '--models-max', '1') do |uri, pid|
    go = ->(m) { (r = ask(uri, 'POST', '/v1/completions', { model: m, prompt: [5, 6, 7], max_tokens: 4, seed: 1 })).code == '200' ? JSON.parse(r.body)['choices'] : r }
    put = ->(bytes) { File.binwrite("#{file}.new", bytes) && File.rename("#{file}.new", file) }
    was = File.binread(file)
    other = was.dup
    other[-2000..] = was[-4000..-2001]
    first = go.('a')
    put.(other)
    check('who has it keeps it', go.('a') == first && go.('b').is_a?(Array))
    reply = go.('a')
    check("another is not taken for it: #{reply.is_a?(Array) ? reply : reply.body}", !reply.is_a?(Array) && reply.code == '500' && error_of(reply)['param'] == 'model' &&
                                                                                     error_of(reply)['message'].include?('another than the one that was served'))
    check('the others are served', go.('b').is_a?(Array))
    put.(was)
    check('the one that it was is', go.('a') == first && go.('b').is_a?(Array))
    put.(other)
    Process.kill('HUP', pid)
    check('a signal takes it', 200.times.any? { go.('a').is_a?(Array) || !sleep(0.05) } && go.('a') != first)
  end
end

Dir.mktmpdir do |dir|
  serve do |uri, _|
    check_params(uri)
    check_nested(uri)
    check_within(uri)
    check_bounded(uri)
    check_num_ctx(uri)
    check_queries(uri)
    check_paths(uri)
    check_sent_back(uri)
  end
  check_loading(dir)
  check_aliases(dir)
  check_harmless(dir)
  check_calls(dir)
  check_metrics(dir)
  check_slots(dir)
  check_drafts(dir)
  check_replaced(dir)
end
close_checks
