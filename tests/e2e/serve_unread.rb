# serve_unread.rb BUILD SOURCE: see serve_unread.sh.
require File.join(ARGV[1], 'tests/harness/serve')

SAID = [{ role: 'user', content: 'Tell me a story' }].freeze
REAL = File.join(SOURCE, 'tests/differential/templates/real')

def why_of(reply)
  why = error_of(reply)
  why.is_a?(Hash) ? why['message'] : why
end

def refuses(uri, path, body, begins, fields = {})
  reply = ask(uri, 'POST', path, body, fields)
  check("#{path} #{body}: #{reply.code} #{reply.body[0, 300]}", reply.code == '400' && why_of(reply).start_with?(begins))
end

def takes(uri, path, body)
  reply = ask(uri, 'POST', path, body)
  check("#{path} #{body}: #{reply.code} #{reply.body[0, 300]}", reply.code == '200')
  JSON.parse(reply.body)
end

# ---- messages ----

def spoken(role, content, more = {}) = { role: role, content: content }.merge(more)

# A template says nothing of the roles that it does not know.
def check_roles(uri, name)
  forms = { '/v1/chat/completions' => { max_tokens: 1 }, '/apply-template' => {}, '/api/chat' => { stream: false } }
  forms.each do |path, more|
    go = ->(*messages) { more.merge(messages: messages) }
    %w[developer banana].each do |role|
      [0, 1, 2].each do |at|
        messages = [SAID[0], spoken('assistant', 'so'), SAID[0]].insert(at, spoken(role, 'Be brief.'))
        refuses(uri, path, go.(*messages), "messages: the chat template of #{name} does not write message #{at + 1}, of role \"#{role}\": ")
      end
      takes(uri, path, go.(spoken(role, " \n"), *SAID)) # no words are lost
    end
    refuses(uri, path, go.(*SAID, spoken('developer', SAID[0][:content])), 'messages: ') # words that stand there for another
    refuses(uri, path, go.({ content: 'a' }), 'messages[0].role: ')
    takes(uri, path, go.(spoken('system', 'Be brief.'), *SAID, spoken('assistant', '<think>so</think>it is'), *SAID, spoken('system', 'Be briefer.')))
    takes(uri, path, go.(spoken('user', '<tool_response>a</tool_response>'), spoken('assistant', 'a'), spoken('tool', 'Unwritten0Word'), spoken('tool', 'a')))
  end
  # What the model said itself is its template's to write.
  call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  takes(uri, '/apply-template', { messages: SAID + [spoken('assistant', 'so', tool_calls: [call], reasoning_content: 'why')] + [spoken('tool', '5', tool_call_id: 'c')] })
  takes(uri, '/v1/chat/completions', { max_tokens: 1, messages: SAID + [spoken('assistant', 'Once')], continue_final_message: true })
  takes(uri, '/v1/responses', { max_output_tokens: 1, input: [spoken('developer', 'Be brief.'), SAID[0]] }) # which is the system there
end

def check_templates
  { 'smollm3' => [SAID + [spoken('system', 'Be brief.')], 'system'], 'gpt_oss' => [SAID + [spoken('system', 'Be brief.')], 'system'],
    'phi_3_5' => [SAID + [spoken('assistant', 'a'), spoken('tool', 'Rain.')], 'tool'] }.each do |template, (messages, role)|
    serve('--template', File.join(REAL, "#{template}.jinja")) do |uri, _|
      refuses(uri, '/v1/chat/completions', { messages: messages, max_tokens: 1 }, "messages: the chat template of hone-tiny does not write message #{messages.size}, of role \"#{role}\": ")
      takes(uri, '/v1/chat/completions', { messages: [spoken('system', 'Be brief.')] + SAID, max_tokens: 1 })
    end
  end
end

# As their APIs have it: none; and a turn of nothing is a turn.
def check_empty(uri)
  count = ->(more, messages = SAID) { takes(uri, '/v1/messages/count_tokens', { messages: messages }.merge(more))['input_tokens'] }
  check('an empty system of Anthropic\'s', [count.({}), count.(system: ''), count.(system: [])].uniq.size == 1 && count.(system: 'a') > count.({}))
  eval = ->(more) { takes(uri, '/api/generate', { prompt: 'a', stream: false, options: { num_predict: 1 } }.merge(more))['prompt_eval_count'] }
  check('of Ollama\'s', eval.(system: '') == eval.({}) && eval.(system: 'a') > eval.({}))
  input = ->(more) { takes(uri, '/v1/responses', { input: 'a', max_output_tokens: 1 }.merge(more))['usage']['input_tokens'] }
  check('instructions', input.(instructions: '') == input.({}) && input.(instructions: 'a') > input.({}))
  check('no blocks', count.({}, SAID + [spoken('user', [])]) == count.({}, SAID + [spoken('user', '')]) && count.({}, SAID + [spoken('user', '')]) > count.({}))
  result = ->(more) { [spoken('user', [{ type: 'tool_result', tool_use_id: 'a' }.merge(more)])] }
  check('a result of nothing', count.({}, result.(content: nil)) == count.({}, result.({})))
end

# ---- sampling ----

# A share of nothing is the likeliest, in every form.
def check_top_p(uri)
  texts = lambda do |temperature, top_p|
    (1..4).flat_map do |seed|
      set = { temperature: temperature, top_p: top_p, seed: seed }.compact
      [takes(uri, '/v1/completions', { prompt: 'Once', max_tokens: 6 }.merge(set))['choices'][0]['text'],
       takes(uri, '/v1/messages', { messages: SAID, max_tokens: 6 }.merge(set))['content'].to_s,
       takes(uri, '/api/generate', { prompt: 'Once', stream: false, options: { num_predict: 6, repeat_penalty: 1, top_k: 0 }.merge(set) })['response']]
    end
  end
  likeliest = texts.(0, nil)
  check('of nothing', texts.(1, 0) == likeliest && texts.(1, 2e-38) == likeliest && texts.(1, 1e-9) == likeliest && texts.(1, 1) != likeliest)
  refuses(uri, '/v1/completions', { prompt: 'Once', top_p: 1e-300 }, 'top_p: expected 0 or a number of at least') # f32 has none
end

def check_biases(uri)
  go = ->(bias) { { prompt: 'Once', max_tokens: 1, logit_bias: bias } }
  [{ '5': 1, '05': -1 }, { '05': 1 }, { '00': 1 }, { ' 5': 1 }, { '+5': 1 }, { '5 ': 1 }, { '': 1 }].each { |bias| refuses(uri, '/v1/completions', go.(bias), 'logit_bias: ') }
  [{ '0': 1 }, { '5': 1, '50': 1 }].each { |bias| takes(uri, '/v1/completions', go.(bias)) }
end

# ---- bodies ----

# What is said behind a NUL would be read past.
def check_nuls(uri)
  nul = "\0more"
  [['/v1/completions', { prompt: 'a', max_tokens: 1, logit_bias: { "5#{nul}": 1 } }, 'logit_bias'], ['/v1/completions', { prompt: ["a#{nul}"], max_tokens: 1 }, 'prompt'],
   ['/v1/chat/completions', { messages: SAID, max_tokens: 1, service_tier: "auto#{nul}" }, 'service_tier'],
   ['/v1/chat/completions', { messages: [spoken('user', [{ type: "text#{nul}", text: 'a' }])], max_tokens: 1 }, 'messages'],
   ['/v1/responses', { input: [{ type: "message#{nul}", role: 'user', content: 'a' }], max_output_tokens: 16 }, 'input'],
   ['/v1/responses', { input: 'a', include: ["message.output_text.logprobs#{nul}"], max_output_tokens: 16 }, 'include'],
   ['/v1/messages', { messages: SAID, max_tokens: 1, metadata: { user_id: "a#{nul}" } }, 'metadata'],
   ['/tokenize', { content: "a#{nul}" }, 'content']].each { |path, body, field| refuses(uri, path, body, "#{field}") }
end

# A path that is got, or deleted, or that changes a job, is all that is asked.
def check_bodies(uri)
  { 'GET' => %w[/v1/models /health /api/tags /v1/fine_tuning/jobs /metrics /], 'DELETE' => %w[/v1/files/a /v1/responses/a /v1/models/a],
    'POST' => %w[cancel pause resume].map { |c| "/v1/fine_tuning/jobs/a/#{c}" } }.each do |method, paths|
    paths.each do |path|
      none, empty = ask(uri, method, path), ask(uri, method, path, {})
      check("#{method} #{path}", none.code == empty.code && %w[200 404].include?(none.code))
      ['{"more":1}', '[]', '{', 'a', '{"more":null}'].each do |body|
        reply = ask(uri, method, path, body)
        check("#{method} #{path} #{body}: #{reply.code}", reply.code == '400' && (!body.include?('more') || reply.body.include?('more: no field of the body of ')))
      end
    end
  end
end

# Pages that may ask send what their clients send.
def check_preflight
  serve('--allow-origin', 'https://app.example') do |uri, _|
    asks = ->(origin) { ask(uri, 'OPTIONS', '/v1/chat/completions', nil, 'Origin' => origin, 'Access-Control-Request-Method' => 'POST', 'Access-Control-Request-Headers' => 'authorization,x-stainless-lang') }
    told = asks.('https://app.example')['Access-Control-Allow-Headers'].to_s.split(/, */)
    check("of that origin: #{told}", told.include?('*') && told.include?('authorization'))
    check('of another', asks.('https://other.example')['Access-Control-Allow-Headers'].nil?)
  end
end

# A file that is not there is who asked's mistake, and where the folder lies is not told.
def check_folder(dir)
  folder = File.join(dir, 'adapters')
  Dir.mkdir(folder)
  serve('--adapters', folder) do |uri, _|
    File.write(File.join(folder, 'bad.gguf'), 'no adapter')
    FileUtils.cp(File.join(SOURCE, 'tests/differential/llama_cpp_keys/qwen3.gguf'), File.join(folder, 'model.gguf'))
    File.binwrite(File.join(folder, 'cut.gguf'), File.binread(File.join(folder, 'model.gguf'), 500))
    [[{ lora_name: 'none' }, '404', 'lora_name: there is no none.gguf '], [{ lora_name: 'bad' }, '400', 'bad.gguf: '], [{ lora_name: 'bad', scale: 1e308 }, '400', 'scale: '],
     [{ lora_name: 'model' }, '400', 'adapter model.gguf: no adapter'], [{ lora_name: 'cut' }, '400', 'cut.gguf: '],
     [{ lora_name: '../adapters/bad' }, '400', '../adapters/bad: ']].each do |body, code, begins|
      reply = ask(uri, 'POST', '/v1/load_lora_adapter', body)
      check("#{body}: #{reply.code} #{reply.body}", reply.code == code && why_of(reply).start_with?(begins) && !reply.body.include?(dir))
    end
  end
end

# ---- Ollama's ----

def check_keep(uri)
  %w[/api/chat /api/generate].each do |path|
    ['x', '', 'a0', '0x', '5m3', '5 m', 'm', '-', '.', '.s', '1h30', '5d'].each { |keep| refuses(uri, path, { keep_alive: keep }, 'keep_alive: ') }
    refuses(uri, path, { keep_alive: 'x', messages: SAID, prompt: 'a' }.slice(*(path == '/api/chat' ? %i[keep_alive messages] : %i[keep_alive prompt])), 'keep_alive: ')
    { '5m' => 'load', '1h30m' => 'load', '1.5h' => 'load', '-1' => 'load', '-1m' => 'load', '300' => 'load', '0.001s' => 'load', '20µs' => 'load', -1 => 'load', 0.5 => 'load',
      '0' => 'unload', '0s' => 'unload', '0h0m0s' => 'unload', '-0s' => 'unload', 0 => 'unload', 0.0 => 'unload' }.each do |keep, reason|
      said = takes(uri, path, { keep_alive: keep })
      check("#{keep.inspect}: #{said}", said['done_reason'] == reason)
    end
  end
end

def check_embed
  serve(File.join(MODELS, 'bert')) do |uri, _|
    go = ->(more) { { input: 'a b c' }.merge(more) }
    n = takes(uri, '/api/embed', go.({}))['prompt_eval_count']
    refuses(uri, '/api/embed', go.(options: { num_ctx: n - 1 }), "input: text 0 has #{n} tokens: ")
    refuses(uri, '/api/embed', go.(options: { num_ctx: 100_000 }), 'options.num_ctx: ')
    refuses(uri, '/api/embed', go.(keep_alive: 'x'), 'keep_alive: ')
    check('as long as it is', takes(uri, '/api/embed', go.(options: { num_ctx: n }, keep_alive: '5m'))['prompt_eval_count'] == n)
  end
end

Dir.mktmpdir do |dir|
  serve do |uri, _|
    check_top_p(uri)
    check_biases(uri)
    check_nuls(uri)
    check_keep(uri)
  end
  serve(marked_model(dir, 'qwen3'), '--context', '4096') do |uri, _|
    check_roles(uri, 'qwen3')
    check_empty(uri)
  end
  serve('--jobs', File.join(dir, 'jobs')) { |uri, _| check_bodies(uri) }
  check_templates
  check_preflight
  check_folder(dir)
  check_embed
end
close_checks
