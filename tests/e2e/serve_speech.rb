# serve_speech.rb BUILD SOURCE: see serve_speech.sh.
require File.join(ARGV[1], 'tests/harness/serve')

SCHEMA = { type: 'object', properties: { n: { type: 'integer', minimum: 3, maximum: 17 } }, required: ['n'], additionalProperties: false }.freeze
WAY = { type: 'object', properties: { way: { enum: %w[up down] } }, required: ['way'], additionalProperties: false }.freeze
SAID = [{ role: 'user', content: 'Where?' }].freeze
DICTATED = 'root ::= "<think>so it is</think>there " [a-z]{3} "\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"n\": " [3-9] "}}\n</tool_call>"'

def function(name, parameters, more = {}) = { type: 'function', function: { name: name, parameters: parameters }.merge(more) }
def events_of(reply) = reply.body.scan(/^data: (\{.*)$/).flatten.map { |e| JSON.parse(e) }

# Whether calls are as many as asked for, and each by its schema.
def well_called?(calls, names, count)
  !calls.empty? && (count.nil? || calls.size == count) && calls.all? do |name, arguments|
    names.include?(name) && (name == 'look' ? (3..17).cover?(arguments['n']) : %w[up down].include?(arguments['way'])) && arguments.size == 1
  end
end

# ---- forced, in OpenAI's form ----

def chat(uri, more) = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, max_tokens: 400, recipe: true, logprobs: true }.merge(more)).body)

def check_forced(uri, model, dir)
  tools = [function('look', SCHEMA), function('go', WAY)]
  (1..4).each do |seed|
    [['required', true, %w[look go], nil], ['required', false, %w[look go], 1], [{ type: 'function', function: { name: 'go' } }, false, %w[go], 1]].each do |choice, parallel, names, count|
      whole = chat(uri, tools: tools, tool_choice: choice, parallel_tool_calls: parallel, seed: seed, thinking_budget: 9, max_tokens: parallel ? 60 : 400)
      message = whole['choices'][0]['message']
      done = (message['tool_calls'] || []).map { |c| [c['function']['name'], (JSON.parse(c['function']['arguments']) rescue nil)] }.reject { |c| c[1].nil? }
      check("#{choice} #{parallel} #{seed}: #{message}", (done.empty? && parallel) || well_called?(done, names, count))
      check('and ends so', whole['choices'][0]['finish_reason'] == (count ? 'tool_calls' : whole['choices'][0]['finish_reason']))
      check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?) if seed == 1
    end
  end
  strict = chat(uri, tools: [function('look', SCHEMA, strict: true)], seed: 5, max_tokens: 40)
  check("who may answer is held too: #{strict['choices'][0]}", strict['recipe']['grammar_kind'] == 'gbnf' && strict['recipe']['grammar'].include?('"maximum":17'))
  loose = chat(uri, tools: [function('look', SCHEMA)], seed: 5, max_tokens: 5)
  check('by the schema if it is strict alone', !loose['recipe']['grammar'].include?('"maximum":17') && loose['recipe']['grammar'].include?('look'))
  [[{ tool_choice: 'required' }, 'tool_choice'], [{ tools: tools, tool_choice: 'always' }, 'tool_choice'],
   [{ tools: tools, tool_choice: { type: 'function', function: { name: 'no' } } }, 'tool_choice'], [{ tools: tools * 2 }, 'tools'],
   [{ tools: tools, tool_choice: 'required', grammar: 'root ::= "a"' }, 'grammar'], [{ thinking_budget: 4, grammar: 'root ::= "a"' }, 'grammar'],
   [{ tools: [function('a b', WAY)] }, 'tools'], [{ tools: [function('a', [])] }, 'tools'], [{ thinking_budget: 0 }, 'thinking_budget'],
   [{ tools: [function('a', { type: 'object', not: {} })], tool_choice: 'required' }, 'tools']].each do |more, param|
    reply = ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, max_tokens: 2 }.merge(more))
    check("#{more}: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == param)
  end
  unheld = function('a', { type: 'object', properties: {}, not: { type: 'null' } })
  check('what no mask can hold may be asked for loosely', chat(uri, tools: [unheld], max_tokens: 2)['choices'] &&
        chat(uri, tools: [function('a', { type: 'object', not: {} }, strict: false)], tool_choice: 'required', max_tokens: 2)['choices'])
end

# ---- some of the tools ----

def allowed(mode, *names) = { type: 'allowed_tools', allowed_tools: { mode: mode, tools: names.map { |n| { type: 'function', function: { name: n } } } } }

def check_allowed(uri, model, dir)
  tools = [function('look', SCHEMA), function('go', WAY), function('stay', WAY)]
  all = chat(uri, tools: tools, max_tokens: 1)['usage']['prompt_tokens']
  (1..4).each do |seed|
    whole = chat(uri, tools: tools, tool_choice: allowed('required', 'go', 'stay'), parallel_tool_calls: false, seed: seed, thinking_budget: 9)
    calls = whole['choices'][0]['message']['tool_calls'].map { |c| [c['function']['name'], JSON.parse(c['function']['arguments'])] }
    check("allowed: #{calls}", well_called?(calls, %w[go stay], 1) && whole['usage']['prompt_tokens'] == all)
    check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?) if seed == 1
    items = JSON.parse(ask(uri, 'POST', '/v1/responses', { input: 'Where?', tools: tools.map { |t| t[:function].merge(type: 'function') }, seed: seed, thinking_budget: 9, parallel_tool_calls: false,
                                                           tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'stay' }] } }).body)['output']
    check("in a response: #{items}", items.last['name'] == 'stay')
  end
  may = chat(uri, tools: tools, tool_choice: allowed('auto', 'go'), max_tokens: 2)['recipe']['grammar']
  check('or a text', may.include?('\\"go\\"') && !may.include?('look') && !may.include?('stay'))
  [allowed('never', 'go'), allowed('auto'), allowed('auto', 'no'), { type: 'allowed_tools' }, allowed('auto', 'go').tap { |c| c[:allowed_tools][:tools] << { type: 'mcp' } }].each do |choice|
    reply = ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, max_tokens: 2, tools: tools, tool_choice: choice })
    check("#{choice}: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'tool_choice')
  end
  reply = ask(uri, 'POST', '/v1/responses', { input: 'a', tools: [function('go', WAY)[:function].merge(type: 'function')], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', name: 'go' }] } })
  check("a response's: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'tool_choice')
end

# ---- thoughts ----

def check_thoughts(uri, model, dir)
  long = 'root ::= "<think>" [a-z]{30} "</think>" "yes"'
  whole = chat(uri, grammar: long, seed: 1)
  count = whole['usage']['completion_tokens_details']['reasoning_tokens']
  check("tokens of a thought: #{whole['usage']}", count.between?(2, whole['usage']['completion_tokens'] - 1))
  open = JSON.parse(ask(uri, 'POST', '/tokenize', { content: '<think>', parse_special: true }).body)['tokens']
  (1..3).each do |seed| # it would think for ever
    held = chat(uri, thinking_budget: 7, seed: seed, max_tokens: 40, logit_bias: { open[0].to_s => 100 })
    thought = held['choices'][0]['message']['reasoning_content']
    check("a budget is used up, and the mark of its end is the last: #{held['usage']} #{open}",
          open.size == 1 && held['usage']['completion_tokens_details']['reasoning_tokens'] == 8 && !held['choices'][0]['message']['content'].include?('<think>'))
    check("made again: #{replay(dir, held, model)}", replay(dir, held, model)[0].zero?)
    schema = chat(uri, thinking_budget: 7, seed: seed, response_format: { type: 'json_schema', json_schema: { name: 'a', schema: WAY } })
    check("before JSON too: #{thought}", %w[up down].include?((JSON.parse(schema['choices'][0]['message']['content']) rescue {})['way']))
  end
end

# ---- Anthropic's form ----

def check_messages(uri, model, dir)
  tools = [{ name: 'look', description: 'a place', input_schema: SCHEMA }, { name: 'go', input_schema: WAY }]
  ask_message = ->(more) { ask(uri, 'POST', '/v1/messages', { max_tokens: 400, messages: SAID, tools: tools }.merge(more)) }
  [[{ type: 'any', disable_parallel_tool_use: true }, %w[look go]], [{ type: 'tool', name: 'go', disable_parallel_tool_use: true }, %w[go]]].each do |choice, names|
    whole = JSON.parse(ask_message.(tool_choice: choice, seed: 3, recipe: true).body)
    blocks = whole['content'].select { |b| b['type'] == 'tool_use' }
    check("#{choice}: #{whole['content']}", whole['stop_reason'] == 'tool_use' && well_called?(blocks.map { |b| [b['name'], b['input']] }, names, 1))
    check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?)
    other = JSON.parse(JSON.generate(whole))
    other['content'].find { |b| b['type'] == 'tool_use' }['input'] = { 'n' => 99 }
    check('another input', replay(dir, other, model)[1].include?('the call differs'))
    events = events_of(ask_message.(tool_choice: choice, seed: 3, stream: true))
    check_blocks(events, whole['content'])
    check('its reason', events.find { |e| e['type'] == 'message_delta' }['delta']['stop_reason'] == 'tool_use')
  end
  none = JSON.parse(ask_message.(tool_choice: { type: 'none' }, seed: 3, max_tokens: 3).body)
  plain = JSON.parse(ask_message.(tools: nil, seed: 3, max_tokens: 3).body)
  check('none is as without', none['usage']['input_tokens'] + none['usage']['cache_read_input_tokens'] == plain['usage']['input_tokens'] + plain['usage']['cache_read_input_tokens'])
  thought = JSON.parse(ask_message.(tools: nil, thinking: { type: 'enabled', budget_tokens: 5 }, seed: 2, max_tokens: 30).body)
  check("thinking is counted: #{thought['usage']}", thought['usage']['output_tokens_details']['thinking_tokens'] <= 6)
  [[{ thinking: { type: 'enabled' } }, 'thinking'], [{ thinking: { type: 'deep' } }, 'thinking'], [{ tool_choice: { type: 'some' } }, 'tool_choice'],
   [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools'], [{ tools: [{ name: 'a', defer_loading: true, input_schema: WAY }] }, 'defer_loading'],
   [{ messages: [{ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] }] }, 'tool_use'],
   [{ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image' }] }] }] }, 'image'],
   [{ output_config: { format: { type: 'xml' } } }, 'output_config']].each do |more, word|
    reply = ask_message.(more)
    check("#{more}: #{reply.body}", reply.code == '400' && JSON.parse(reply.body)['error']['message'].include?(word))
  end
  schema = JSON.parse(ask_message.(tools: nil, output_config: { format: { type: 'json_schema', schema: WAY } }, seed: 1).body)
  check("a schema: #{schema}", %w[up down].include?(JSON.parse(schema['content'][0]['text'])['way']))
end

# Blocks of a stream begin, go on and end one after the other, and are those of the whole answer.
def check_blocks(events, content)
  blocks, open = [], nil
  events.each do |e|
    case e['type']
    when 'content_block_start' then check('one at a time', open.nil? && e['index'] == blocks.size) && blocks << (open = e['content_block'].merge('json' => +''))
    when 'content_block_delta'
      check('of the open block', e['index'] == blocks.size - 1 && open)
      { 'text_delta' => 'text', 'thinking_delta' => 'thinking', 'input_json_delta' => 'json' }.each do |type, key|
        open[key] = open[key] + e['delta'][key == 'json' ? 'partial_json' : key] if e['delta']['type'] == type
      end
    when 'content_block_stop' then check('its end', e['index'] == blocks.size - 1) && open = nil
    end
  end
  told = blocks.map do |b|
    json = b.delete('json')
    b['type'] == 'tool_use' ? b.merge('input' => JSON.parse(json)).except('id') : b
  end
  check("a stream's blocks: #{told} and #{content}", told == content.map { |b| b['type'] == 'tool_use' ? b.except('id') : b } && open.nil?)
end

# ---- what was said goes back, the same in each form ----

def check_history(uri)
  call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"n": 5}' } }
  openai = SAID + [{ role: 'assistant', content: 'So.', reasoning_content: 'hm', tool_calls: [call] }, { role: 'tool', tool_call_id: 'call_1', content: 'here' },
                   { role: 'user', content: 'Then?' }]
  anthropic = SAID + [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: '' }, { type: 'text', text: 'So.' },
                                                     { type: 'tool_use', id: 'call_1', name: 'look', input: { n: 5 } }] },
                      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'here' }, { type: 'text', text: 'Then?' }] }]
  ollama = SAID + [{ role: 'assistant', content: 'So.', thinking: 'hm', tool_calls: [{ function: { name: 'look', arguments: { n: 5 } } }] },
                   { role: 'tool', tool_name: 'look', content: 'here' }, { role: 'user', content: 'Then?' }]
  counts = lambda do |first, second, third|
    [JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: first, max_tokens: 1 }).body)['usage']['prompt_tokens'],
     JSON.parse(ask(uri, 'POST', '/v1/messages/count_tokens', { messages: second }).body)['input_tokens'],
     JSON.parse(ask(uri, 'POST', '/api/chat', { messages: third, stream: false, options: { num_predict: 1 } }).body)['prompt_eval_count']]
  end
  tokens = counts.(openai, anthropic, ollama)
  check("the same prompt of all forms: #{tokens}", tokens.uniq.size == 1 && tokens[0] > 20)
  result = anthropic[2].merge(content: anthropic[2][:content][0, 1]) # the template has thoughts of the turn that goes on alone
  tokens = counts.(openai[0..2], anthropic[0, 2] + [result], ollama[0..2])
  plain = openai[0..2].map { |m| m.reject { |k, _| k == :reasoning_content } }
  check("with its thoughts: #{tokens}", tokens.uniq.size == 1 && tokens[0] > counts.(plain, SAID, SAID)[0])
  system = ->(content) { SAID + [{ role: 'system', content: content }] + SAID }
  tokens = counts.(system.('So.'), system.([{ type: 'text', text: 'So.', cache_control: { type: 'ephemeral', ttl: '1h' }, citations: [] }]), system.('So.'))
  check("a system between: #{tokens}", tokens.uniq.size == 1)
  going = SAID + [{ role: 'assistant', content: 'It is in the' }]
  prompt = JSON.parse(ask(uri, 'POST', '/apply-template', { messages: going, continue_final_message: true }).body)['prompt']
  check("a message is gone on with: #{prompt}", prompt.end_with?('It is in the'))
  count = JSON.parse(ask(uri, 'POST', '/v1/messages/count_tokens', { messages: going }).body)['input_tokens']
  same = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: going, continue_final_message: true, max_tokens: 1 }).body)['usage']['prompt_tokens']
  check('in Anthropic\'s form as it has it', count == same)
  [SAID + [{ role: 'assistant', content: '' }], SAID + [{ role: 'assistant', content: nil, tool_calls: [call] }]].each do |messages|
    check('nothing to go on with', ask(uri, 'POST', '/v1/chat/completions', { messages: messages, continue_final_message: true, max_tokens: 1 }).code == '400')
  end
end

# ---- Ollama's form ----

def check_ollama(dir)
  look = function('look', SCHEMA)
  template = ['--template', File.join(SOURCE, 'tests/differential/templates/real/qwen3.jinja')]
  serve(*template) do |uri, _|
    dictated = { messages: SAID, tools: [look], grammar: DICTATED, seed: 4, max_tokens: 200 }
    chat = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', dictated).body)['choices'][0]['message']
    check("all of it: #{chat}", chat['reasoning_content'] == 'so it is' && chat['content'].start_with?('there') && chat['tool_calls'].size == 1)
  end
end

def check_lines(uri, model, dir)
  body = { messages: SAID, tools: [function('look', SCHEMA, strict: true)], options: { seed: 3, num_predict: 300, temperature: 1, top_k: 0, top_p: 1, repeat_penalty: 1 } }
  whole = JSON.parse(ask(uri, 'POST', '/api/chat', body.merge(stream: false, recipe: true)).body)
  check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?)
  check('with its tools', whole['recipe']['tools'].include?('look') && whole['recipe']['grammar'].include?('"maximum":17'))
  lines = ask(uri, 'POST', '/api/chat', body).body.lines.map { |l| JSON.parse(l)['message'] }
  check('lines are the whole', lines.map { |m| m['content'] }.join == whole['message']['content'] && lines.filter_map { |m| m['thinking'] }.join == whole['message']['thinking'].to_s &&
                               lines.flat_map { |m| m['tool_calls'] || [] } == (whole['message']['tool_calls'] || []))
  check('images', ask(uri, 'POST', '/api/chat', { messages: [{ role: 'user', content: 'a', images: ['aaaa'] }] }).code == '400')
end

# ---- forced, in notations of their own ----

# Templates of which the words alone count by which a family is known.
OWN = { 'gpt_oss' => [%w[<|channel|> <|message|> <|start|> <|end|> <|call|> <|return|> <|constrain|>], nil],
        'gemma4' => [%w[<|tool_call> <tool_call|> <|"|> <|channel> <channel|>], '<|tool_call>call:'],
        'lfm2' => [%w[<|tool_call_start|> <|tool_call_end|>], '<|tool_call_start|>'] }.freeze

def check_notations(dir)
  words = { type: 'object', properties: { way: { type: 'string' }, far: { type: 'boolean' }, n: { type: 'integer', minimum: 3, maximum: 17 } }, required: %w[way far], additionalProperties: false }
  tools = { look: SCHEMA, go: WAY, say: words }.map { |n, schema| function(n, schema, description: 'it does') }
  made = []
  OWN.each do |name, (marks, sign)|
    text = sign && "{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}#{sign}{% endif %}"
    model = marked_model(dir, name, marks: marks, **(text ? { text: text } : {}))
    serve(model, '--context', '4096') do |uri, _|
      (1..3).each do |seed|
        [['required', %w[look go say]], [{ type: 'function', function: { name: 'go' } }, %w[go]], [{ type: 'function', function: { name: 'say' } }, %w[say]]].each do |choice, names|
          body = { tools: tools, tool_choice: choice, parallel_tool_calls: false, seed: seed, max_tokens: 1200, **(sign ? {} : { thinking_budget: 9 }) }
          whole = chat(uri, body)
          calls = (whole.dig('choices', 0, 'message', 'tool_calls') || []).map { |c| [c['function']['name'], (JSON.parse(c['function']['arguments']) rescue {})] }
          next check("#{name} #{choice} #{seed}: #{whole}", whole.dig('choices', 0, 'finish_reason') == 'length') if calls.empty? || whole['choices'][0]['finish_reason'] == 'length'
          said, given = calls[0]
          fits = said == 'say' ? given['way'].is_a?(String) && [true, false].include?(given['far']) && (given.keys - %w[way far n]).empty? : well_called?(calls, names, 1)
          check("#{name} #{choice} #{seed}: #{calls}", calls.size == 1 && names.include?(said) && fits)
          made << name
          events = events_of(ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, stream: true }.merge(body)))
          check('in a stream too', events.flat_map { |e| e.dig('choices', 0, 'delta', 'tool_calls') || [] }.map { |c| c['function']['arguments'] }.join == whole['choices'][0]['message']['tool_calls'][0]['function']['arguments'])
          check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?) if seed == 1
        end
      end
    end
  end
  check("each was called: #{made}", made.uniq == OWN.keys)
end

Dir.mktmpdir do |dir|
  model = marked_model(dir, 'qwen3')
  serve(model, '--context', '4096') do |uri, _|
    check_forced(uri, model, dir)
    check_allowed(uri, model, dir)
    check_thoughts(uri, model, dir)
    check_messages(uri, model, dir)
    check_history(uri)
    check_lines(uri, model, dir)
  end
  check_notations(dir)
  check_ollama(dir)
  serve do |uri, _|
    reply = ask(uri, 'POST', '/v1/chat/completions', { messages: SAID, thinking_budget: 5, max_tokens: 1 })
    check("a budget takes marks that are tokens: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'thinking_budget')
  end
end
close_checks
