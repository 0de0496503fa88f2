# serve.rb BUILD SOURCE: see serve.sh.
require File.join(ARGV[1], 'tests/harness/serve')
require File.join(ARGV[1], 'tests/harness/small_disk')

# ---- what is answered ----

def check_answers
  serve do |uri, _|
    chat = { messages: [{ role: 'user', content: 'Tell me a story' }], max_tokens: 12, seed: 5 }
    whole = ask(uri, 'POST', '/v1/chat/completions', chat)
    said = JSON.parse(whole.body)
    text = said['choices'][0]['message']['content']
    check('a chat is answered', whole.code == '200' && !text.empty? && said['usage']['completion_tokens'] == 12)
    check('by its own name', said['model'] == 'hone-tiny' && said['seed'] == 5)
    stream = ask(uri, 'POST', '/v1/chat/completions', chat.merge(stream: true, stream_options: { include_usage: true }))
    events = stream.body.scan(/^data: (.*)$/).flatten
    pieces = events[0..-2].map { |e| JSON.parse(e) }
    check('as a stream too', stream['Content-Type'] == 'text/event-stream' && events.last == '[DONE]' &&
                             pieces.map { |e| e['choices'].dig(0, 'delta', 'content') }.join == text)
    check('with usage at its end', pieces.last['choices'].empty? && pieces.last['usage']['completion_tokens'] == 12)
    drawn = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', chat.reject { |k, _| k == :seed }).body)
    again = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', chat.merge(seed: drawn['seed'])).body)
    check('a drawn seed is told, and gives the same', again['choices'] == drawn['choices'])
    ids = JSON.parse(ask(uri, 'POST', '/tokenize', { content: 'Once upon a time', with_pieces: true }).body)['tokens']
    back = JSON.parse(ask(uri, 'POST', '/detokenize', { tokens: ids.map { |t| t['id'] } }).body)['content']
    check('tokens and back', back == 'Once upon a time' && ids.map { |t| t['bytes'] }.flatten.pack('C*') == back.b)
    check('the rendering', JSON.parse(ask(uri, 'POST', '/apply-template', { messages: chat[:messages] }).body)['prompt'].include?('Tell me a story'))
    check('health', ask(uri, 'GET', '/health').code == '200')
    check('metrics', ask(uri, 'GET', '/metrics').body.include?('hone_tokens_generated_total{model="hone-tiny"} '))
  end
end

# ---- what a prompt is given, and the best of several ----

def check_scores
  serve do |uri, _|
    go = ->(body) { JSON.parse(ask(uri, 'POST', '/v1/completions', { prompt: 'Once upon', max_tokens: 6, seed: 1 }.merge(body)).body)['choices'] }
    plain, echoed = go.(logprobs: 1)[0], go.(logprobs: 1, echo: true)[0]
    said = echoed['logprobs']
    n = said['tokens'].size - plain['logprobs']['tokens'].size
    check('the prompt comes first', echoed['text'] == 'Once upon' + plain['text'] && n == JSON.parse(ask(uri, 'POST', '/tokenize', { content: 'Once upon', add_special: true }).body)['tokens'].size)
    check('with what it was given', said['token_logprobs'][0].nil? && said['top_logprobs'][0].nil? && said['token_logprobs'][1...n].all? { |v| v < 0 } &&
                                    said['token_logprobs'][n..] == plain['logprobs']['token_logprobs'] && said['top_logprobs'][n..] == plain['logprobs']['top_logprobs'])
    check('and where', said['text_offset'][n..] == plain['logprobs']['text_offset'].map { |o| o + 'Once upon'.size } &&
                       said['tokens'].each_with_index.all? { |t, i| i.zero? || echoed['text'][said['text_offset'][i], t.size] == t })
    none = go.(logprobs: 0, echo: true, max_tokens: 0)[0]
    check('alone', none['text'] == 'Once upon' && none['logprobs']['token_logprobs'] == said['token_logprobs'][0...n] && none['finish_reason'] == 'length')
    # Longer than all rows of a step together; given one more token the last is what the model would have given it.
    ids = (0...300).map { |i| 40 + i * 7 % 200 }
    scores = go.(prompt: ids, logprobs: 0, echo: true, max_tokens: 0)[0]['logprobs']['token_logprobs']
    again = go.(prompt: [ids, ids[0...100]], logprobs: 0, echo: true, max_tokens: 0).map { |c| c['logprobs']['token_logprobs'] }
    check('of a long one', scores.size == 300 && again == [scores, scores[0...100]])
    check('without scores', go.(echo: true)[0].then { |c| c['text'] == 'Once upon' + plain['text'] && c['logprobs'].nil? })
    made = go.(n: 5, logprobs: 0, temperature: 2)
    best = go.(n: 2, best_of: 5, temperature: 2)
    mean = ->(c) { (v = c['logprobs']['token_logprobs']).sum / v.size }
    check('the best of five', best.map { |c| c['text'] } == made.sort_by { |c| -mean.(c) }.first(2).map { |c| c['text'] } && best.map { |c| c['index'] } == [0, 1] &&
                              best.none? { |c| c['logprobs'] } && made.map { |c| c['text'] }.uniq.size > 1)
    [{ best_of: 1, n: 2 }, { best_of: 3, stream: true }, { best_of: 17 }, { max_tokens: -1 },
     { post_sampling_probs: true }, { post_sampling_probs: true, logprobs: 1, echo: true }, { post_sampling_probs: true, logprobs: 1, best_of: 2 }].each do |body|
      check("#{body} is refused", ask(uri, 'POST', '/v1/completions', { prompt: 'Once' }.merge(body)).code == '400')
    end
  end
end

# ---- other forms of asking ----

# The same conversation has the same text in each API's form, whole and as a stream, with the same sampling.
def check_forms
  serve do |uri, _|
    said = [{ role: 'user', content: 'Tell me a story' }]
    chat = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: said, max_tokens: 12, seed: 5 }).body)
    text = chat['choices'][0]['message']['content']
    message = { model: 'hone-tiny', messages: said, max_tokens: 12, seed: 5 }
    whole = JSON.parse(ask(uri, 'POST', '/v1/messages', message).body)
    check('a message', whole['type'] == 'message' && whole['content'] == [{ 'type' => 'text', 'text' => text }] &&
                       whole['stop_reason'] == 'max_tokens' && whole['usage']['output_tokens'] == 12)
    events = ask(uri, 'POST', '/v1/messages', message.merge(stream: true)).body.scan(/^event: (.*)\ndata: (.*)$/)
    deltas = events.map { |_, d| JSON.parse(d) }
    check('its events', events.map(&:first).chunk_while { |a, b| a == b }.map(&:first) ==
                        %w[message_start content_block_start content_block_delta content_block_stop message_delta message_stop])
    check('and their text', deltas.filter_map { |d| d.dig('delta', 'text') }.join == text && deltas.all? { |d| events.map(&:first).include?(d['type']) })
    system = JSON.parse(ask(uri, 'POST', '/v1/messages/count_tokens', { messages: said, system: 'Be brief.' }).body)['input_tokens']
    plain = JSON.parse(ask(uri, 'POST', '/v1/messages/count_tokens', { messages: said }).body)['input_tokens']
    check('counting', plain == chat['usage']['prompt_tokens'] && system > plain)
    same = { temperature: 1, top_k: 0, top_p: 1, repeat_penalty: 1, num_predict: 12, seed: 5 }
    lines = ask(uri, 'POST', '/api/chat', { model: 'hone-tiny:latest', messages: said, options: same, tools: [] }).body.lines.map { |l| JSON.parse(l) }
    check('lines', lines.map { |l| l['message']['content'] }.join == text && lines.map { |l| l['done'] }.uniq == [false, true] &&
                   lines.last['done_reason'] == 'length' && lines.last['eval_count'] == 12)
    whole = JSON.parse(ask(uri, 'POST', '/api/generate', { prompt: 'Tell me a story', options: same, stream: false }).body)
    check('generate is a user\'s turn', whole['response'] == text)
    raw = JSON.parse(ask(uri, 'POST', '/api/generate', { prompt: 'Once upon', raw: true, options: same, stream: false }).body)
    going = JSON.parse(ask(uri, 'POST', '/v1/completions', { prompt: 'Once upon', max_tokens: 12, seed: 5 }).body)
    check('or a text to go on with', raw['response'] == going['choices'][0]['text'])
    check('its list', JSON.parse(ask(uri, 'GET', '/api/tags').body)['models'][0]['name'] == 'hone-tiny')
    [['/v1/messages', message.merge(max_tokens: nil), 400], ['/v1/messages', message.merge(messages: [{ role: 'owner', content: 'a' }]), 400],
     ['/v1/messages', message.merge(model: 'no'), 404], ['/v1/messages', message.merge(messages: [{ role: 'user', content: [{ type: 'image' }] }]), 400]].each do |path, body, status|
      reply = ask(uri, 'POST', path, body)
      check("#{path} #{body}: #{reply.code}", reply.code == status.to_s && JSON.parse(reply.body)['type'] == 'error')
    end
    [['/api/chat', { messages: said, options: { num_ctx: 10_000_000, mirostat: 1 } }, 400], ['/api/generate', { prompt: 5 }, 400],
     ['/api/generate', { prompt: 'a', suffix: 'b' }, 400], ['/api/embed', { input: 'a' }, 400], ['/api/chat', { model: 'no', messages: said }, 404]].each do |path, body, status|
      reply = ask(uri, 'POST', path, body)
      check("#{path} #{body}: #{reply.code}", reply.code == status.to_s && JSON.parse(reply.body)['error'].is_a?(String))
    end
    check('a method', JSON.parse(ask(uri, 'GET', '/api/chat').body)['error'].is_a?(String) && JSON.parse(ask(uri, 'GET', '/v1/messages').body)['type'] == 'error')
  end
end

# ---- held to a form ----

# A schema that takes long to make keeps nobody waiting who has none: it is refused, and whoever asked after it was answered
# before.
def check_long_rules
  serve do |uri, _|
    ends = Queue.new
    long = { messages: [{ role: 'user', content: 'x' }], max_tokens: 1, response_format:
             { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'string', pattern: '^((a|b|c|d|e)*(a|b)(a|b|c|d){16})$' } } } }
    first = Thread.new { ask(uri, 'POST', '/v1/chat/completions', long).tap { ends << :long } }
    sleep 0.05
    short = ask(uri, 'POST', '/v1/completions', { prompt: 'Once', max_tokens: 1 }).tap { ends << :short }
    check('who asks without rules does not wait for them', short.code == '200' && ends.pop == :short)
    check('rules of too many steps are refused', first.value.code == '400' && first.value.body.include?('steps to make'))
  end
end

def check_formats(dir)
  serve do |uri, _|
    schema = { type: 'object', properties: { name: { type: 'string', maxLength: 8 }, n: { type: 'integer', minimum: 3, maximum: 17 } },
               required: %w[name n], additionalProperties: false }
    said = [{ role: 'user', content: 'Tell me a story' }]
    [1, 2, 3].each do |seed|
      reply = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: said, seed: seed, max_tokens: 100, recipe: true, logprobs: true,
                             response_format: { type: 'json_schema', json_schema: { name: 'a', schema: schema, strict: true } } }).body)
      value = JSON.parse(reply['choices'][0]['message']['content'])
      check("a schema is held: #{value}", value.keys.sort == %w[n name] && value['name'].size <= 8 && (3..17).cover?(value['n']) &&
                                        reply['choices'][0]['finish_reason'] == 'stop')
      check('and made again', replay(dir, reply)[0].zero? && replay(dir, reply, '--isa', 'ref', '--memory', '2G')[0].zero?)
      other = JSON.parse(JSON.generate(reply))
      other['recipe']['grammar'] = '{"type":"integer"}'
      check('another grammar is found', !replay(dir, other)[0].zero?)
      value = JSON.parse(JSON.parse(ask(uri, 'POST', '/api/chat', { messages: said, stream: false, format: schema, options: { seed: seed } }).body)['message']['content'])
      check('in another form too', value.keys.sort == %w[n name])
    end
    rules = { prompt: 'Once', grammar: 'root ::= "yes" | "no"', max_tokens: 20, seed: 1 }
    check('rules', %w[yes no].include?(JSON.parse(ask(uri, 'POST', '/v1/completions', rules).body)['choices'][0]['text']))
    [[{ grammar: 'root ::= nothing' }, 'grammar'], [{ grammar: '' }, 'grammar'], [{ grammar: 'root ::= "a"', response_format: { type: 'text' } }, 'grammar'],
     [{ response_format: { type: 'xml' } }, 'response_format.type'], [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
     [{ response_format: { type: 'json_schema', json_schema: { schema: { type: 'string', contentEncoding: 'base64', minLength: -1 } } } }, 'response_format'],
     [{ response_format: { type: 'json_schema', json_schema: { schema: { '$ref' => 'http://127.0.0.1/a.json' } } } }, 'response_format'],
     [{ response_format: { type: 'json_object', json_schema: {} } }, 'response_format.json_schema']].each do |more, param|
      reply = ask(uri, 'POST', '/v1/chat/completions', { messages: said, max_tokens: 5 }.merge(more))
      check("#{more}: #{reply.code} #{reply.body}", reply.code == '400' && error_of(reply)['param'] == param)
    end
  end
end

# ---- thoughts and calls ----

# The built-in model under Qwen 3's template; what it says is dictated by a grammar.
def check_calls(dir)
  look = { type: 'function', function: { name: 'look', description: 'a place', parameters: { type: 'object', properties: { n: { type: 'integer' } } } } }
  said = [{ role: 'user', content: 'Where?' }]
  thought = 'root ::= "<think>so it is</think>there it " [a-z]+ "."'
  call = 'root ::= "One. <tool_call>\\n{\\"name\\": \\"look\\", \\"arguments\\": {\\"n\\": " [0-9] "}}\\n</tool_call>"'
  serve('--template', File.join(SOURCE, 'tests/differential/templates/real/qwen3.jinja')) do |uri, _|
    both = lambda do |body|
      body = { messages: said, max_tokens: 200, seed: 4, recipe: true, logprobs: true }.merge(body)
      whole = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', body).body)
      events = ask(uri, 'POST', '/v1/chat/completions', body.merge(stream: true)).body.scan(/^data: (\{.*)$/).flatten.map { |e| JSON.parse(e) }
      [whole, events.filter_map { |e| e['choices'][0] }]
    end
    template = ['--template', File.join(SOURCE, 'tests/differential/templates/real/qwen3.jinja')]
    whole, events = both.(grammar: thought)
    message = whole['choices'][0]['message']
    check("a thought is told apart: #{message}", message['reasoning_content'] == 'so it is' && message['content'].match?(/\Athere it [a-z]+\.?\z/))
    deltas = events.map { |c| c['delta'] }
    check('in a stream too', deltas.filter_map { |d| d['reasoning_content'] }.join == 'so it is' && deltas.filter_map { |d| d['content'] }.join == message['content'])
    check("made again: #{replay(dir, whole, *template)}", replay(dir, whole, *template)[0].zero?)
    other = JSON.parse(JSON.generate(whole))
    other['choices'][0]['message']['reasoning_content'] = 'so it was'
    check('another thought', replay(dir, other, *template)[1].include?('the thought differs'))
    whole, events = both.(grammar: call, tools: [look])
    message = whole['choices'][0]['message']
    made = message['tool_calls'][0]
    check("a call is read: #{message}", made['function']['name'] == 'look' && (0..9).cover?(JSON.parse(made['function']['arguments'])['n']) &&
                                        made['type'] == 'function' && whole['choices'][0]['finish_reason'] == 'tool_calls' && message['content'].strip == 'One.')
    parts = events.flat_map { |c| c['delta']['tool_calls'] || [] }
    check('in a stream too', parts.map { |p| p['function']['arguments'] }.join == made['function']['arguments'] && parts[0]['function']['name'] == 'look' &&
                             parts[0]['id'] && parts[1..].none? { |p| p['id'] } && events.last['finish_reason'] == 'tool_calls')
    check("made again: #{replay(dir, whole, *template)}", replay(dir, whole, *template)[0].zero?)
    other = JSON.parse(JSON.generate(whole))
    other['choices'][0]['message']['tool_calls'][0]['function']['arguments'].sub!(/\d/) { |d| (9 - d.to_i).to_s }
    check('another call', replay(dir, other, *template)[1].include?('the call differs'))
    plain, = both.(grammar: call)
    check('without tools it is text', plain['choices'][0]['message']['content'].include?('<tool_call>') && !plain['choices'][0]['message']['tool_calls'])
    none, = both.(grammar: call, tools: [look], tool_choice: 'none')
    check('and so it is where none may be called', none['usage']['prompt_tokens'] == plain['usage']['prompt_tokens'] && !none['choices'][0]['message']['tool_calls'])
    history = said + [message.slice('role', 'content', 'tool_calls'), { role: 'tool', tool_call_id: made['id'], content: 'here' }]
    told = JSON.parse(ask(uri, 'POST', '/apply-template', { messages: history }).body)['prompt']
    check("what was called goes back: #{told}", told.include?('"arguments": ' + JSON.generate(JSON.parse(made['function']['arguments'])).sub(':', ': ')) && told.include?('here'))
    textless = [nil, { content: nil }].map { |m| [said[0], { role: 'assistant', tool_calls: message['tool_calls'] }.merge(m || {}), history[2]] }
    texts = [history.map { |m| m['tool_calls'] ? m.merge('content' => '') : m }, *textless].map { |h| JSON.parse(ask(uri, 'POST', '/apply-template', { messages: h }).body)['prompt'] }
    check("a call without a text has an empty one: #{texts}", texts.uniq.size == 1 && texts[0]&.include?('"name": "look"'))
    [{ role: 'assistant' }, { role: 'assistant', content: nil, tool_calls: [] }].each do |m|
      reply = ask(uri, 'POST', '/apply-template', { messages: said + [m, *said] })
      check("nothing at all is refused, by the model's name: #{reply.body}", reply.code == '400' && error_of(reply)['message'].start_with?('hone-tiny: chat template'))
    end
    [{ tools: [{ type: 'web_search' }] }, { tools: [{ type: 'function', function: {} }] },
     { tools: [look], response_format: { type: 'json_object' } }].each do |more|
      check("#{more}", error_of(ask(uri, 'POST', '/v1/chat/completions', { messages: said }.merge(more)))['param'] == 'tools')
    end
  end
  serve('--template', File.join(SOURCE, 'tests/differential/templates/real/gpt_oss.jinja')) do |uri, _|
    calls = %w[1 2].map { |id| { id: id, type: 'function', function: { name: 'look', arguments: "{\"n\": #{id}}" } } }
    results = %w[1 2].map { |id| { role: 'tool', tool_call_id: id, content: "place #{id}" } }
    told = ->(messages) { ask(uri, 'POST', '/apply-template', { messages: messages }) }
    both = told.(said + [{ role: 'assistant', content: '', tool_calls: calls }, *results])
    check("Harmony's template would lose a call: #{both.body}", both.code == '400' && error_of(both)['param'] == 'messages' && error_of(both)['message'].include?('one call a message, found 2'))
    each = told.(said + calls.zip(results).flat_map { |c, r| [{ role: 'assistant', content: '', tool_calls: [c] }, r] }).body
    check("each by itself is told: #{each}", %w[1 2].all? { |n| JSON.parse(each)['prompt']&.include?("place #{n}") })
  end
  serve do |uri, _|
    reply = ask(uri, 'POST', '/v1/chat/completions', { messages: said, tools: [look], max_tokens: 1 })
    check("a template without tools refuses them: #{reply.body}", reply.code == '400')
  end
end

# ---- made again ----

# Of chats and responses, beside the log-probability.
def check_replays_of_entries(dir, uri)
  said = [{ role: 'user', content: 'Tell me a story' }]
  { '/v1/chat/completions' => [{ messages: said, logprobs: true, top_logprobs: 3, max_tokens: 30 }, ->(o) { o['choices'][0]['logprobs']['content'] }],
    '/v1/responses' => [{ input: said, include: ['message.output_text.logprobs'], top_logprobs: 3, max_output_tokens: 30 }, ->(o) { o['output'][0]['content'][0]['logprobs'] }] }.each do |path, (body, list)|
    whole = JSON.parse(ask(uri, 'POST', path, { model: 'hone-tiny', recipe: true, seed: 9 }.merge(body)).body)
    check("#{path}: #{replay(dir, whole)}", replay(dir, whole)[0].zero? && list.(whole).size > 20)
    { 'the log-probability of token 0' => ->(l) { l[0]['logprob'] = l[0]['logprob'].next_float }, 'what is told of token 2' => ->(l) { l[2]['top_logprobs'][1]['logprob'] = l[2]['top_logprobs'][1]['logprob'].next_float },
      'what is told of token 3' => ->(l) { l[3]['bytes'][0] += 1 }, 'what is told of token 4' => ->(l) { l[4]['token'] += ' ' }, 'what is told of token 5' => ->(l) { l[5]['top_logprobs'].pop },
      'what is told of token 6' => ->(l) { l[6]['top_logprobs'][0]['bytes'].pop }, 'more made' => ->(l) { l.pop }, 'fewer made' => ->(l) { l.push(l[0]) } }.each do |what, change|
      other = JSON.parse(JSON.generate(whole))
      change.(list.(other))
      check("#{path}: #{what}: #{replay(dir, other)}", replay(dir, other)[1].include?(what))
    end
  end
end

# A model may say NUL: what comes behind it is told, made again and compared.
def check_replays_of_nul(dir, told)
  loved = { model: 'hone-tiny', max_tokens: 12, logit_bias: { '0' => 30 }, seed: 3, temperature: 1.0 }
  said = [{ role: 'user', content: 'Tell' }]
  { '/v1/completions' => [{ prompt: 'Once' }, ->(o) { o['choices'][0] }, 'text'],
    '/v1/chat/completions' => [{ messages: said }, ->(o) { o['choices'][0]['message'] }, 'content'] }.each do |path, (body, of, key)|
    whole = told.(path, loved.merge(body))
    check("#{path}: what comes behind NUL is told: #{of.(whole)}", of.(whole)[key].match?(/\0[^\0]/))
    check("#{path}: and made again: #{replay(dir, whole)}", replay(dir, whole)[0].zero?)
    [->(t) { t[/\A[^\0]*/] }, ->(t) { t.sub(/\0[^\0]/, "\0~") }].each do |change|
      other = JSON.parse(JSON.generate(whole))
      of.(other)[key] = change.(of.(other)[key])
      check("#{path}: another text behind NUL: #{replay(dir, other)}", replay(dir, other)[1].include?('the text differs from byte'))
    end
  end
  echoed = told.('/v1/completions', { model: 'hone-tiny', prompt: [70, 0, 71], echo: true, logprobs: 1, max_tokens: 3 })
  check("NUL in a prompt's ids: #{replay(dir, echoed)}", replay(dir, echoed)[0].zero?)
end

# What is told of prompts, and the best of several.
def check_replays_of_scores(dir, uri, told)
  tiny = { model: 'hone-tiny', prompt: ['Once upon', [70, 71, 72]], temperature: 2.0, max_tokens: 8 }
  { 'a prompt with scores' => { echo: true, logprobs: 1, n: 2 }, 'without' => { echo: true }, 'alone' => { echo: true, logprobs: 0, max_tokens: 0 },
    'to its end' => { echo: true, logprobs: 0, max_tokens: 400, temperature: 0.5, prompt: 'Once' }, 'one id' => { echo: true, logprobs: 0, prompt: [70] },
    'the best' => { n: 2, best_of: 5 }, 'with scores' => { n: 2, best_of: 5, logprobs: 0, echo: true }, 'cut by a stop' => { echo: true, logprobs: 0, stop: 'e' },
    'the best by rules' => { n: 1, best_of: 4, grammar: 'root ::= [a-z]+ "."', echo: true } }.each do |name, body|
    reply = told.('/v1/completions', tiny.merge(body))
    check("#{name}: #{replay(dir, reply)}", replay(dir, reply)[0].zero?)
  end
  drawn = { post_sampling_probs: true, temperature: 0.9, top_k: 3, logprobs: 5, repetition_penalty: 1.2 }
  { 'after sampling' => drawn, 'by rules' => drawn.merge(grammar: 'root ::= [a-z ]+ "."'), 'the likeliest' => drawn.merge(temperature: 0) }.each do |name, body|
    reply = told.('/v1/completions', tiny.merge(body))
    check("#{name}: #{replay(dir, reply)}", replay(dir, reply)[0].zero?)
    tops = reply['choices'].flat_map { |c| c['logprobs']['top_logprobs'] }
    check("what may be drawn makes 1: #{tops}", tops.all? { |t| t.size.between?(1, 3) && (t.values.sum { |v| Math.exp(v) } - 1).abs < 1e-9 })
    reply['recipe']['scores_drawn'] = false
    check('and is not what the model has', replay(dir, reply)[1].include?('log-probability'))
  end
  chat = told.('/v1/chat/completions', { model: 'hone-tiny', messages: [{ role: 'user', content: 'Hi' }], logprobs: true, top_logprobs: 4, post_sampling_probs: true, temperature: 0 })
  check('of a chat', replay(dir, chat)[0].zero? && chat['choices'][0]['logprobs']['content'].all? { |t| t['logprob'].zero? && t['top_logprobs'].size == 1 })
  changed = lambda do |body, what = nil, &change|
    other = told.('/v1/completions', tiny.merge(body))
    change.(other)
    said = replay(dir, other)
    check("a change is found: #{body} #{said}", !said[0].zero? && (!what || said[1].include?(what)))
  end
  changed.({ n: 2, best_of: 5 }, 'choice 0: the text differs') { |o| o['choices'][0], o['choices'][1] = o['choices'][1], o['choices'][0] }
  changed.({ n: 2, best_of: 5 }) { |o| o['recipe']['best_of'] = 3 }
  changed.({ echo: true, logprobs: 0 }, 'log-probability of token 0') { |o| o['choices'][0]['logprobs']['token_logprobs'][1] = o['choices'][0]['logprobs']['token_logprobs'][1].next_float }
  changed.({ echo: true, logprobs: 0 }, 'the text differs from byte 0') { |o| o['recipe']['echo'][0] = 'twice' }
  changed.({ echo: true, logprobs: 0 }, 'the text of each prompt') { |o| o['recipe']['echo'] = ['Once'] }
  changed.({ echo: true, logprobs: 0 }) { |o| o['recipe']['echo'] = nil }
  scored = { echo: true, logprobs: 3, stop: 'e' }
  old = ->(o) { o['choices'][0]['logprobs'] }
  changed.(scored, 'the likeliest of token 1 differs') { |o| old.(o)['top_logprobs'][2].then { |t| t[t.keys.last] = t.values.last.next_float } }
  changed.(scored, 'the likeliest of token 0 differs') { |o| old.(o)['top_logprobs'][1].then { |t| t.delete(t.keys.last) } }
  changed.(scored, 'the text of token 0 differs') { |o| old.(o)['tokens'][0] += 'x' }
  changed.(scored, 'the text of token') { |o| old.(o)['tokens'][-1] += 'x' }
  changed.(scored, 'the place of token') { |o| old.(o)['text_offset'][-1] += 1 }
  changed.(scored, 'the place of token 1') { |o| old.(o)['text_offset'][2] += 1 }
  changed.(scored, 'top_logprobs') { |o| old.(o)['top_logprobs'].pop }
  changed.({ logprobs: 0 }, 'expected null') { |o| old.(o)['top_logprobs'] = [] }
  changed.({ logprobs: 1 }, 'expected them') { |o| o['choices'][0]['logprobs'] = nil }
  check_replays_of_entries(dir, uri)
  check_replays_of_nul(dir, told)
  chat = told.('/v1/chat/completions', { model: 'hone-tiny', messages: [{ role: 'user', content: 'Tell me a story' }] })
  check("which template, and when: #{chat['recipe']}", chat['recipe']['template'].size == 64 && chat['recipe']['clock'] == chat['created'])
  check('none of a text', told.('/v1/completions', tiny)['recipe'].then { |r| r.fetch('template').nil? && r.fetch('clock').nil? })
  said = replay(dir, chat, '--template', File.join(SOURCE, 'tests/differential/templates/real/qwen3.jinja'))
  check("another template: #{said}", !said[0].zero? && said[1].include?("expected the template #{chat['recipe']['template']}"))
end

# Where there are tools another template of the model's may render: a recipe tells it, and another in its place is found.
def check_variants(dir)
  plain = '{% for m in messages %}{{ m.content }}{% endfor %}'
  one, two = %w[one two].map do |word|
    marked_model(dir, word, text: [{ name: 'default', template: plain }, { name: 'tool_use', template: "#{plain}{{ tools | tojson }}#{word}" }])
  end
  look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
  serve(one, '--calls', 'json') do |uri, _|
    go = ->(**more) { JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4, seed: 1, recipe: true }.merge(more)).body) }
    whole, plain = go.(tools: [look]), go.()
    check("which of a model's templates: #{whole}", whole['recipe']['template'].size == 64 && whole['recipe']['template'] != plain['recipe']['template'])
    check("made again: #{replay(dir, whole, one)}", replay(dir, whole, one)[0].zero? && replay(dir, plain, one)[0].zero? && replay(dir, plain, two)[0].zero?)
    check("by another: #{replay(dir, whole, two)}", replay(dir, whole, two)[1].include?('expected the template'))
  end
end

# A template that tells the time is told that of the request, which the recipe keeps.
def check_clock(dir)
  file = File.join(dir, 'clock.jinja')
  File.write(file, "It is {{ strftime_now('%H:%M:%S') }}. {{ messages[0].content }}")
  ENV['TZ'] = 'Asia/Tokyo'
  serve('--template', file) do |uri, _|
    chat = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4, seed: 1, recipe: true }).body)
    prompt = JSON.parse(ask(uri, 'POST', '/detokenize', { tokens: chat['recipe']['prompts'][0] }).body)['content']
    check("the clock that a template was told: #{prompt}", prompt.include?("It is #{Time.at(chat['recipe']['clock']).utc.strftime('%H:%M:%S')}. Hi"))
    check("made again: #{replay(dir, chat, '--template', file)}", replay(dir, chat, '--template', file)[0].zero?)
  end
ensure
  ENV.delete('TZ')
end

# Draws are of the definition that a recipe names; one that names none is older, and of the first.
def check_replays_of_draws(dir, told)
  few = told.('/v1/completions', { model: 'hone-tiny', prompt: 'Once', temperature: 1, top_k: 1024 })
  all = told.('/v1/completions', { model: 'hone-tiny', prompt: 'Once', temperature: 1, top_k: 0, top_p: 0.9 })
  check("definitions: #{few['recipe']} #{all['recipe']}", few['recipe']['draws'] == 'draw.1' && all['recipe']['draws'] == 'draw.2')
  check("made again: #{replay(dir, few)} #{replay(dir, all)}", replay(dir, few)[0].zero? && replay(dir, all)[0].zero?)
  few['recipe'].delete('draws')
  all['recipe'].delete('draws')
  check("older, and the same: #{replay(dir, few)}", replay(dir, few)[0].zero?)
  check("older, and another: #{replay(dir, all)}", replay(dir, all).then { |code, said| !code.zero? && said.include?('drawn by draw.1: here such a draw is draw.2') })
  few['recipe']['draws'] = 'draw.2'
  check('another definition', replay(dir, few)[1].include?('drawn by draw.2: here such a draw is draw.1'))
end

# What was told is made again, alone; every change of what was told, or of how it was made, is named.
def check_replays(dir)
  adapter, llama = File.join(dir, 'adapter.gguf'), File.join(MODELS, 'llama')
  system(HONE, 'import', File.join(SOURCE, 'tests/differential/adapters/llama'), adapter, '--base', llama, out: File::NULL, err: File::NULL)
  check('an adapter is there', File.exist?(adapter))
  serve("a=#{llama}", 'hone:tiny', '--lora', "ad=#{adapter}:0.5", '--cache', 'f16', '--draft-ngram', '3') do |uri, _|
    told = lambda do |path, body|
      JSON.parse(ask(uri, 'POST', path, { recipe: true, seed: 9, max_tokens: 30 }.merge(body)).body)
    end
    chat = told.('/v1/chat/completions', { model: 'hone-tiny', messages: [{ role: 'user', content: 'Tell me a story' }], n: 3, logprobs: true, stop: ['. A', 'the'] })
    check("a chat: #{replay(dir, chat)}", replay(dir, chat)[0].zero?)
    full = told.('/v1/completions', { model: 'hone-tiny', prompt: 'Once upon a time', max_tokens: 100_000, ignore_eos: true, logprobs: 1, logit_bias: { '5' => -100, '7' => 1.5 } })
    check("to the context's end: #{replay(dir, full)}", replay(dir, full)[0].zero? && full['usage']['total_tokens'] == full['recipe']['context'])
    many = told.('/v1/completions', { model: 'a:ad', prompt: [[5, 6, 7], [9, 10, 11, 12]], n: 2, logprobs: 2, temperature: 0.7, top_k: 30, frequency_penalty: 0.5 })
    check("with an adapter: #{replay(dir, many, llama, '--lora', adapter)}", replay(dir, many, llama, '--lora', adapter)[0].zero?)
    check_replays_of_scores(dir, uri, told)
    check_replays_of_draws(dir, told)
    check('not without it', replay(dir, many, llama)[1].include?('--lora'))
    check('another model', replay(dir, many, File.join(MODELS, 'qwen3'), '--lora', adapter)[1].include?('expected the model'))
    deep = ->(o) { JSON.parse(JSON.generate(o)) }
    { 'seed' => 10, 'temperature' => 0.5, 'top_k' => 3, 'max_tokens' => 20, 'frequency' => 0.25, 'adapter_scale' => 1.0, 'cache' => 'f32',
      'prompts' => [[5, 6, 8], [9, 10, 11, 12]], 'bias' => [[20, 1000.0]], 'numerics' => 'f32.9', 'n' => 1, 'adapter' => '0' * 64 }.each do |key, value|
      other = deep.(many)
      other['recipe'][key] = value
      check("another #{key} is found", !replay(dir, other, llama, '--lora', adapter)[0].zero?)
    end
    other = deep.(chat)
    other['choices'][1]['message']['content'] += '.'
    check('another text', replay(dir, other)[1].include?('choice 1: the text differs'))
    other = deep.(chat)
    other['choices'][2]['logprobs']['content'][0]['logprob'] = other['choices'][2]['logprobs']['content'][0]['logprob'].next_float
    check('one bit of a log-probability', replay(dir, other)[1].include?('choice 2: the log-probability of token 0'))
    other = deep.(chat)
    other['recipe']['more'] = 1
    check('more than is known', replay(dir, other)[1].include?('"more" is not known'))
    other['recipe'] = nil
    check('no recipe', replay(dir, other)[1].include?('has no recipe'))
    stream = ask(uri, 'POST', '/v1/completions', { model: 'hone-tiny', prompt: 'Once', max_tokens: 3, stream: true, recipe: true }).body.scan(/^data: (.*)$/).flatten
    check('of a stream', JSON.parse(stream[-2])['recipe']['prompts'][0].is_a?(Array))
  end
end

# ---- what is refused ----

def check_refusals
  serve do |uri, _|
    chat = '/v1/chat/completions'
    hello = { messages: [{ role: 'user', content: 'a' }], max_tokens: 1 }
    [[chat, '{"messages":', 400, nil], [chat, '[]', 400, nil], [chat, {}, 400, 'messages'], [chat, hello.merge(messages: []), 400, 'messages'],
     [chat, hello.merge(nonsense: 1), 400, 'nonsense'], [chat, hello.merge(temperature: 3), 400, 'temperature'], [chat, hello.merge(top_p: 1e-50), 400, 'top_p'],
     [chat, hello.merge(stop: ['a'] * 17), 400, 'stop'], [chat, hello.merge(stop: ''), 400, 'stop'], [chat, hello.merge(n: 17), 400, 'n'],
     [chat, hello.merge(top_logprobs: 2), 400, 'top_logprobs'], [chat, hello.merge(max_completion_tokens: 2), 400, 'max_tokens'],
     [chat, hello.merge(stream_options: { include_usage: true }), 400, 'stream_options'],
     [chat, hello.merge(stream: true, stream_options: { more: true }), 400, 'stream_options.more'],
     [chat, hello.merge(logit_bias: { 'x' => 1 }), 400, 'logit_bias'], [chat, hello.merge(logit_bias: { '5' => 101 }), 400, 'logit_bias'],
     [chat, hello.merge(model: 'no-such'), 404, 'model'], [chat, hello.merge(model: 'hone-tiny:no-such'), 404, 'model'],
     [chat, { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://127.0.0.1/a.png' } }] }] }, 400, 'messages'],
     [chat, { messages: [{ role: 'user', content: 'word ' * 2000 }] }, 400, 'messages'],
     [chat, hello.merge(chat_template_kwargs: { no_such: 1 }), 400, 'chat_template_kwargs'],
     ['/v1/completions', {}, 400, 'prompt'], ['/v1/completions', { prompt: [] }, 400, 'prompt'], ['/v1/completions', { prompt: [-1] }, 400, 'prompt'],
     ['/v1/completions', { prompt: [1_000_000] }, 400, 'prompt'], ['/v1/completions', { prompt: [{}] }, 400, 'prompt'],
     ['/v1/completions', { prompt: ['a'] * 65, n: 2 }, 400, 'n'], ['/v1/embeddings', { input: 'a' }, 400, 'model'],
     ['/tokenize', {}, 400, 'content'], ['/detokenize', { tokens: ['a'] }, 400, 'tokens']].each do |path, body, status, param|
      reply = ask(uri, 'POST', path, body)
      check("#{path} #{body.to_s[0, 60]}: #{reply.code} #{reply.body}",
            reply.code == status.to_s && error_of(reply)['param'] == param && !error_of(reply)['message'].empty?)
    end
    check('a prompt that is too long has its code', error_of(ask(uri, 'POST', chat, { messages: [{ role: 'user', content: 'a ' * 3000 }] })).then { |e| e['code'] == 'context_length_exceeded' &&
                                          e['message'].match?(/prompt is too long: \d+ tokens, and this model's maximum context length is 512 tokens/) }) # which clients look for
    check('no path', ask(uri, 'GET', '/no/such').code == '404')
    wrong = ask(uri, 'DELETE', '/v1/models')
    check('no method', wrong.code == '405' && wrong['Allow'] == 'GET, HEAD')
    check('no JSON', ask(uri, 'POST', chat, hello, 'Content-Type' => 'text/plain').code == '415')
    check('a foreign page', ask(uri, 'POST', chat, hello, 'Origin' => 'http://evil.example').code == '403')
    check('a name turned to this address', ask(uri, 'POST', chat, hello, 'Host' => 'evil.example').code == '421')
    check('and it goes on', ask(uri, 'POST', chat, hello).code == '200')
  end
end

# ---- who may ask ----

def check_keys(dir)
  keys = File.join(dir, 'keys')
  File.write(keys, "# two\nalice aaaaaaaaaaaaaaaaaaaa\nops bbbbbbbbbbbbbbbbbbbbbb admin\n", perm: 0600)
  serve('--api-keys', keys) do |uri, _|
    alice, ops = { 'Authorization' => 'Bearer aaaaaaaaaaaaaaaaaaaa' }, { 'x-api-key' => 'bbbbbbbbbbbbbbbbbbbbbb' }
    check('no key', ask(uri, 'GET', '/v1/models').code == '401')
    check('another key', ask(uri, 'GET', '/v1/models', nil, 'x-api-key' => 'aaaaaaaaaaaaaaaaaaab').code == '401')
    check('no key, no path', ask(uri, 'GET', '/no/such').code == '401')
    check('a key', ask(uri, 'GET', '/v1/models', nil, alice).code == '200')
    check('no right', ask(uri, 'GET', '/metrics', nil, alice).code == '403')
    check('the right', ask(uri, 'GET', '/metrics', nil, ops).code == '200')
    check('health for all', ask(uri, 'GET', '/health').code == '200')
    prompt = { prompt: (1..100).to_a, max_tokens: 1 }
    cached = ->(who) { JSON.parse(ask(uri, 'POST', '/v1/completions', prompt, who).body)['usage']['prompt_tokens_details']['cached_tokens'] }
    check('beginnings are a key\'s own', cached.(alice).zero? && cached.(ops).zero? && cached.(alice).positive?)
  end
  serve('--api-keys', keys, '--share-cache') do |uri, _|
    prompt = { prompt: (1..100).to_a, max_tokens: 1 }
    cached = ->(who) { JSON.parse(ask(uri, 'POST', '/v1/completions', prompt, 'x-api-key' => who).body)['usage']['prompt_tokens_details']['cached_tokens'] }
    check('or shared', cached.('a' * 20).zero? && cached.('b' * 22).positive?)
  end
  File.chmod(0644, keys)
  refused(['--api-keys', keys], 'keys')
end

# ---- the log ----

# Texts stand there only if they were asked for; keys never.
def check_log(dir)
  key = 'k' * 20
  keys, file = File.join(dir, 'log-keys'), File.join(dir, 'log')
  File.write(keys, "alice #{key}\n", perm: 0600)
  lines = lambda do |*words|
    File.write(file, '')
    said = nil
    serve('--api-keys', keys, *words, log: file) do |uri, _|
      chat = { messages: [{ role: 'user', content: 'a question of mine' }], max_tokens: 4, seed: 1 }
      said = [chat, chat.merge(stream: true)].map { |body| ask(uri, 'POST', '/v1/chat/completions', body, 'Authorization' => "Bearer #{key}").body }
      said << ask(uri, 'POST', '/v1/chat/completions', chat).body << ask(uri, 'GET', '/').body
    end
    [File.readlines(file).reject { |l| l.include?('hone-tiny,') || l.start_with?('no MODEL') }.join, said]
  end
  %w[json lines].each do |form|
    log, said = lines.('--log', form)
    check("no text in #{form}: #{log}", log.lines.size == 4 && !log.include?('question') && !log.include?(JSON.parse(said[0])['choices'][0]['message']['content']) && !log.include?(key))
  end
  log, said = lines.('--log', 'json', '--log-texts')
  told = log.lines.map { |l| JSON.parse(l) }
  check("what was asked: #{log}", told[0..1].all? { |l| JSON.parse(l['asked'])['messages'][0]['content'] == 'a question of mine' } && !log.include?(key))
  check('and said', told[0..1].map { |l| l['said'] } == said[0..1] && told[1]['said'].end_with?("data: [DONE]\n\n"))
  check('of bodies alone that were read', told[2..3].all? { |l| l.keys == told[0].keys - %w[asked said] } && told[2]['status'] == 401)
  [['--log-texts'], ['--log', 'lines', '--log-texts']].each { |words| refused(words, '--log-texts: it is for --log json') }
end

# ---- a context that is full ----

# It ends an answer, and nobody may ask that something be taken out of it; a value that asks for nothing is taken.
def check_full
  serve('--context', '96') do |uri, _|
    said = [{ role: 'user', content: 'a' }]
    asked = { messages: said, ignore_eos: true, seed: 1, temperature: 0 }
    full = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', asked).body)
    check('the context ends it', full['choices'][0]['finish_reason'] == 'length' && full['usage']['total_tokens'] == 96)
    chat, raw, said_so, made = '/v1/chat/completions', '/v1/completions', '/api/chat', '/api/generate'
    [[chat, { context_shift: true }, 'context_shift'], [chat, { n_keep: 4 }, 'n_keep'], [chat, { n_discard: 8 }, 'n_discard'],
     [chat, { truncate_prompt_tokens: 9 }, 'truncate_prompt_tokens'], [raw, { context_shift: true }, 'context_shift'],
     [raw, { n_keep: 4 }, 'n_keep'], [raw, { n_discard: 8 }, 'n_discard'], [raw, { truncate_prompt_tokens: 9 }, 'truncate_prompt_tokens'],
     [said_so, { shift: true }, 'shift'], [said_so, { truncate: true }, 'truncate'], [said_so, { options: { num_keep: 4 } }, 'options.num_keep'],
     [made, { shift: true }, 'shift'], [made, { truncate: true }, 'truncate'], [made, { options: { num_keep: 4 } }, 'options.num_keep'],
     ['/v1/responses', { truncation: 'auto' }, 'truncation'], ['/v1/responses', { context_management: [] }, 'context_management'],
     ['/v1/messages', { context_management: {} }, 'context_management']].each do |path, more, name|
      body = { '/v1/responses' => { input: 'a' }, raw => { prompt: 'a' }, made => { prompt: 'a' }, said_so => { messages: said } }[path] ||
             { messages: said, max_tokens: 1 }
      reply = ask(uri, 'POST', path, body.merge(more))
      check("#{path} #{more}: #{reply.code} #{reply.body}", reply.code == '400' && reply.body.include?(name))
    end
    none = ask(uri, 'POST', chat, asked.merge(context_shift: false, n_keep: -1, n_discard: 0))
    check('the same without', none.code == '200' && JSON.parse(none.body)['choices'] == full['choices'])
    kept = ask(uri, 'POST', said_so, { messages: said, shift: false, truncate: false, stream: false, options: { num_keep: -1, num_predict: -1 } })
    check('and so is Ollama\'s', kept.code == '200' && %w[length stop].include?(JSON.parse(kept.body)['done_reason']))
  end
end

# ---- beginnings on disk ----

# Over restarts, for who asked alone; a file that is damaged is named, counted and not used.
def check_disk(dir)
  folder, keys = File.join(dir, 'blocks'), File.join(dir, 'keys-disk')
  File.write(keys, "alice aaaaaaaaaaaaaaaaaaaa\nops bbbbbbbbbbbbbbbbbbbbbb admin\n", perm: 0600)
  prompt = { prompt: (1..150).to_a, max_tokens: 4, seed: 1, logprobs: 2 }
  said, known, refused, others = [], [], [], []
  4.times do |i|
    blocks = Dir[File.join(folder, '*.block')]
    File.write(blocks[0], 'x' * 3000) if i == 2
    File.write(keys, "bob cccccccccccccccccccc\n" + File.read(keys), perm: 0600) if i == 1
    serve('--api-keys', keys, '--cache-disk', folder) do |uri, _|
      answer = JSON.parse(ask(uri, 'POST', '/v1/completions', prompt, 'x-api-key' => 'a' * 20).body)
      said << answer['choices']
      known << answer['usage']['prompt_tokens_details']['cached_tokens']
      others << JSON.parse(ask(uri, 'POST', '/v1/completions', prompt, 'x-api-key' => 'c' * 20).body)['usage']['prompt_tokens_details']['cached_tokens'] if i == 1
      refused << ask(uri, 'GET', '/metrics', nil, 'x-api-key' => 'b' * 22).body[/^hone_cache_disk_refused_total (\d+)/, 1].to_i
    end
  end
  check("the same each time: #{known} #{refused}", said.uniq.size == 1 && known[0].zero? && known[1] == 128 && known[3] == 128)
  check('a file of another kind is counted', refused[0].zero? && refused[1].zero? && refused[2] <= 1 && refused[3].zero? && (known[2] < 128) == (refused[2] == 1))
  check('and another key finds nothing', others == [0])
  check('for this user alone', Dir[File.join(folder, '*.block')].all? { |f| File.stat(f).mode & 0777 == 0600 } && File.stat(folder).mode & 0777 == 0700)
  refused(['--cache-disk-max', '5'], 'cache-disk')
end

# Whoever asks hears nothing of it: the server's own log names what could not be written, half a file stays nowhere, and what was on the disk
# before is still read; with room again it is written.
def check_full_disk(dir) = with_small_disk(File.join(dir, 'small'), '4m') { |disk| fill_cache_disk(dir, disk) }

def fill_cache_disk(dir, disk)
  folder, err = File.join(disk, 'blocks'), File.join(dir, 'disk.err')
  one, other = [1, 7].map { |step| { prompt: (0...150).map { |i| 5 + i * step % 190 }, max_tokens: 4, seed: 1, logprobs: 2 } }
  run = lambda do |*asked|
    answers = nil
    serve('--cache-disk', folder, log: err) { |uri, _| answers = asked.map { |body| JSON.parse(ask(uri, 'POST', '/v1/completions', body).body) } }
    [answers.map { |a| a['choices'] }, answers.map { |a| a['usage']['prompt_tokens_details']['cached_tokens'] }, File.read(err), Dir[File.join(folder, '*')].map { |f| File.basename(f) }.sort]
  end
  said, _, _, before = run.(one)
  fill(disk)
  full, known, told, after = run.(other, one)
  check("a disk that is full is named: #{told}", told.include?('No space left') && told.include?(folder))
  check("nothing half is left: #{before} #{after}", before == after && before.count { |f| f.end_with?('.block') } == 2)
  check("what was there is read: #{known}", known == [0, 128] && full[1] == said[0])
  clear(disk)
  run.(other)
  full, known, told, after = run.(other, one)
  check("with room again: #{known} #{told}", known == [128, 128] && full[1] == said[0] && !told.include?('No space') && after.size == before.size + 2)
end

# ---- models that take turns ----

def check_models
  llama, qwen, bert = %w[llama qwen3 bert].map { |m| File.join(MODELS, m) }
  serve("a=#{llama}", qwen, "e=#{bert}", '--models-max', '1', '--pooling', 'qwen3=lasttoken') do |uri, _|
    names = JSON.parse(ask(uri, 'GET', '/v1/models').body)['data'].map { |m| m['id'] }
    check('by their names', names == %w[a qwen3 e])
    loaded = -> { ask(uri, 'GET', '/metrics').body.scan(/hone_model_loaded\{model="(\w+)"\} 1/).flatten }
    check('the first is there', loaded.() == ['a'])
    go = ->(m) { JSON.parse(ask(uri, 'POST', '/v1/completions', { model: m, prompt: [5, 6, 7], max_tokens: 3, seed: 1 }).body)['choices'] }
    first = go.('a')
    check('another takes its place', go.('qwen3') && loaded.() == ['qwen3'])
    check('at once, each time', 20.times.all? { |i| go.(%w[a qwen3][i % 2]) } && loaded.() == ['qwen3'])
    vectors = JSON.parse(ask(uri, 'POST', '/v1/embeddings', { model: 'e', input: ['a b', 'c'] }).body)['data']
    packed = JSON.parse(ask(uri, 'POST', '/v1/embeddings', { model: 'e', input: 'a b', encoding_format: 'base64' }).body)['data'][0]['embedding']
    check('and one that embeds', vectors.size == 2 && packed.unpack1('m').unpack('e*') == vectors[0]['embedding'].map { |x| [x].pack('e').unpack1('e') })
    short = JSON.parse(ask(uri, 'POST', '/v1/embeddings', { model: 'e', input: 'a b', dimensions: 4 }).body)['data'][0]['embedding']
    told = ->(input, more = {}) { JSON.parse(ask(uri, 'POST', '/v1/embeddings', { model: 'e', input: input }.merge(more)).body) }
    one, two = ['a b', 'c'].map { |t| JSON.parse(ask(uri, 'POST', '/tokenize', { model: 'e', content: t, add_special: true }).body)['tokens'] }
    by_ids = told.([one, two])
    check('ids are their texts, and count', by_ids['data'] == vectors && by_ids['usage']['prompt_tokens'] == one.size + two.size)
    check('an array of ids is one text', told.(one)['data'] == vectors[0, 1] && told.(['a b', two])['data'] == vectors)
    check('as they stand', told.(one[1..-2])['data'][0]['embedding'] != vectors[0]['embedding'])
    check('many ids are no many texts', told.(one[1, 1] * 2049)['error'].then { |e| e['param'] == 'input' && e['message'].include?('2049 tokens') })
    [[[]], [one, []], [[-1]], [[1, 'a']], [[1, 1.5]], [{}], [[[1]]], [[1 << 40]]].each do |input|
      reply = ask(uri, 'POST', '/v1/embeddings', { model: 'e', input: input })
      check("refused: #{input} #{reply.code} #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'input')
    end
    check('Ollama has texts alone', ask(uri, 'POST', '/api/embed', { model: 'e', input: [one] }).code == '400')
    check('cut to length 1', short.size == 4 && (short.sum { |x| x * x } - 1).abs < 1e-6)
    check('and says the same when it is back', go.('a') == first)
    mine = JSON.parse(ask(uri, 'POST', '/v1/embeddings', { model: 'qwen3', input: [5, 6, 7] }).body)['data'][0]['embedding']
    check('one that generates embeds as it is asked to, and generates', mine.size == 32 && go.('qwen3') && mine == JSON.parse(
      ask(uri, 'POST', '/v1/embeddings', { model: 'qwen3', input: [5, 6, 7] }).body)['data'][0]['embedding'])
    by_text = JSON.parse(ask(uri, 'POST', '/api/embed', { model: 'qwen3', input: ['a b'] }).body)['embeddings'][0]
    want = `#{HONE} embed #{qwen} 'a b' --pooling lasttoken`.split.map { |x| [x.to_f].pack('e') }
    check('as hone embed does', by_text.map { |x| [x].pack('e') } == want)
    reply = ask(uri, 'POST', '/v1/embeddings', { model: 'a', input: 'a b' })
    check("or says what is missing: #{reply.body}", reply.code == '400' && error_of(reply)['message'].include?('a does not say how vectors are pooled'))
    threads = 12.times.map { |i| Thread.new { ask(uri, 'POST', '/v1/completions', { model: %w[a qwen3][i % 2], prompt: [5, 6, 7], max_tokens: 3, seed: 1 }) } }
    codes = threads.map { |t| t.value.code }
    check("all are answered or told to come again: #{codes.tally}", codes.all? { |c| %w[200 429].include?(c) } && codes.include?('200'))
  end
end

# By memory: those that have room stay, others take turns, and what can never have enough is refused by its name.
def check_memory
  words = ["a=#{MODELS}/llama", "b=#{MODELS}/qwen3"]
  go = ->(uri, m) { ask(uri, 'POST', '/v1/completions', { model: m, prompt: [5, 6, 7], max_tokens: 3, seed: 1 }) }
  has = ->(uri) { ask(uri, 'GET', '/metrics').body[/^hone_memory_bytes (\d+)/, 1].to_i }
  loaded = ->(uri) { ask(uri, 'GET', '/metrics').body.scan(/hone_model_loaded\{model="(\w+)"\} 1/).flatten }
  choices = ->(reply) { JSON.parse(reply.body)['choices'] }
  alone = words.map { |w| bytes = nil; said = nil; serve(w) { |uri, _| said = choices.(go.(uri, w[0])); bytes = has.(uri) }; [bytes, said] }
  (one, two), said = alone.map(&:first), alone.map(&:last)
  more = [one, two].max
  serve(*words, '--memory', ((one + two) * 1.3).to_i.to_s) do |uri, _|
    check('the first is loaded, others when they are asked for', loaded.(uri) == ['a'] && go.(uri, 'b').code == '200' && loaded.(uri) == %w[a b])
  end
  limit = (more * 1.25).to_i
  serve(*words, '--memory', limit.to_s) do |uri, _|
    12.times do |i|
      m = %w[a b][i % 2]
      reply = go.(uri, m)
      check("#{m} in the memory of one: #{reply.body}", reply.code == '200' && choices.(reply) == said[i % 2] && loaded.(uri) == [m] && has.(uri) <= limit)
    end
    codes = 12.times.map { |i| Thread.new { go.(uri, %w[a b][i % 2]).code } }.map(&:value)
    check("all are answered or told to come again: #{codes.tally}", codes.all? { |c| %w[200 429].include?(c) } && codes.include?('200') && has.(uri) <= limit)
  end
  small, large = one < two ? words : words.reverse
  serve(small, large, '--memory', ([one, two].min + (one - two).abs / 4).to_s) do |uri, _|
    2.times do
      reply = go.(uri, large[0])
      check("what never has room: #{reply.code} #{reply.body}", reply.code == '400' && JSON.parse(reply.body)['error'].then { |e| e['param'] == 'model' && e['message'].start_with?("#{large[0]} takes more than all memory") })
    end
    check('the other is served', go.(uri, small[0]).code == '200')
  end
  refused(['--memory', '1M', words[0]], 'a takes more than all memory of this server')
  refused(['--memory', 'much', words[0]], "memory 'much'")
end

# ---- limits of time ----

def check_times
  said = [{ role: 'user', content: 'Tell me a story' }]
  long = { prompt: 'Once', max_tokens: 450, ignore_eos: true, n: 16, seed: 1, temperature: 2 }
  serve('--answer-ms', '60') do |uri, _|
    reply = ask(uri, 'POST', '/v1/completions', long)
    check("an answer that takes too long: #{reply.code}", reply.code == '504' && error_of(reply)['code'] == 'time_limit_exceeded')
    events = ask(uri, 'POST', '/v1/completions', long.merge(stream: true)).body.scan(/^data: (.*)$/).flatten
    check('in a stream', events.size > 1 && JSON.parse(events[0])['choices'] && JSON.parse(events.last)['error']['code'] == 'time_limit_exceeded')
    message = { model: 'hone-tiny', messages: said, max_tokens: 400, temperature: 1, stream: true }
    body = ask(uri, 'POST', '/v1/messages', message).body while !body&.include?('timeout_error') && (tries = (tries || 0) + 1) < 50
    check('in Anthropic\'s form', body.include?("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\""))
    check('and others go on', ask(uri, 'POST', '/v1/completions', { prompt: 'Once', max_tokens: 1 }).code == '200')
  end
  serve('--first-token-ms', '1') do |uri, _|
    reply = ask(uri, 'POST', '/v1/completions', { prompt: [300] * 400, max_tokens: 1 })
    check("one that does not begin: #{reply.code} #{reply.body}", reply.code == '504' && error_of(reply)['message'].include?('did not begin'))
  end
  refused(['--answer-ms', '0'], '--answer-ms')
end

# ---- adapters that come and go ----

# What NAME.gguf says for a few tokens: of `model:name` on a server.
def adapter_says(uri, name, more = {})
  reply = ask(uri, 'POST', '/v1/completions', { model: name, prompt: [5, 6, 7], max_tokens: 20, seed: 1, ignore_eos: true, logprobs: 1 }.merge(more))
  reply.code == '200' ? JSON.parse(reply.body)['choices'] : reply.code
end

# One that is held to what was there before it was replaced: its stream is read slowly while `during` runs.
def stream_during(uri, name)
  text, values, done = +'', [], false
  Net::HTTP.start(uri.host, uri.port, read_timeout: 60) do |http|
    request = Net::HTTP::Post.new('/v1/completions', 'Content-Type' => 'application/json')
    request.body = JSON.generate(model: name, prompt: [5, 6, 7], max_tokens: 20, seed: 1, ignore_eos: true, logprobs: 1, stream: true)
    http.request(request) do |reply|
      reply.read_body do |piece|
        text << piece
        yield unless done
        done = true
      end
    end
  end
  text.scan(/^data: (\{.*)$/).flatten.flat_map { |e| JSON.parse(e)['choices'] }.flat_map { |c| c.dig('logprobs', 'token_logprobs') || [] }.each { |v| values << v }
  values
end

def wait_until
  600.times { return true if yield || !sleep(0.05) }
  false
end

def check_adapters(dir)
  llama, folder, store = File.join(MODELS, 'llama'), File.join(dir, 'adapters'), File.join(dir, 'store')
  [folder, store].each { |d| Dir.mkdir(d) }
  make = lambda do |to, type|
    system(HONE, 'import', File.join(SOURCE, 'tests/differential/adapters/llama'), to, '--base', llama, '--type', type, out: File::NULL, err: File::NULL)
  end
  %w[f32 f16 bf16].each { |type| make.(File.join(store, "#{type}.gguf"), type) }
  File.write(File.join(store, 'bad.gguf'), 'GGUF no more')
  put = lambda do |type, name| # a file of it in the place of what is there, as a whole
    FileUtils.cp(File.join(store, "#{type}.gguf"), File.join(folder, '.new'))
    File.rename(File.join(folder, '.new'), File.join(folder, "#{name}.gguf"))
  end
  put.('f32', 'x')
  log = File.join(dir, 'reload.log')
  load = ->(uri, body) { ask(uri, 'POST', '/v1/load_lora_adapter', body) }
  names = ->(uri) { JSON.parse(ask(uri, 'GET', '/v1/models').body)['data'].map { |m| m['id'] } }
  said = {}
  %w[f32 f16 bf16].each { |type| serve("a=#{llama}", '--lora', "x=#{File.join(store, type)}.gguf") { |uri, _| said[type] = adapter_says(uri, 'a:x') } }
  check('three adapters say three things', said.values.uniq.size == 3)
  serve("a=#{llama}", '--adapters', folder, '--adapters-max', '2', '--parallel', '2', log: log) do |uri, pid|
    plain = adapter_says(uri, 'a')
    check("a folder's are there", names.(uri) == %w[a a:x] && adapter_says(uri, 'a:x') == said['f32'] && plain != said['f32'])
    put.('f16', 'y')
    reply = load.(uri, { lora_name: 'y' })
    check("one more: #{reply.body}", reply.code == '200' && JSON.parse(reply.body)['id'] == 'a:y' && names.(uri) == %w[a a:x a:y])
    check('it is its own', adapter_says(uri, 'a:y') == said['f16'] && adapter_says(uri, 'y') == said['f16'] && adapter_says(uri, 'a:x') == said['f32'])
    check('not twice', (reply = load.(uri, { lora_name: 'y' })).code == '400' && error_of(reply)['param'] == 'lora_name')
    values = stream_during(uri, 'a:y') do
      put.('bf16', 'y')
      check('in its place', load.(uri, { lora_name: 'y', load_inplace: true }).code == '200')
      check('what comes has the new one', adapter_says(uri, 'a:y') == said['bf16'])
    end
    check('who began keeps the old one', values == said['f16'][0]['logprobs']['token_logprobs'])
    check('with a scale', load.(uri, { lora_name: 'x', load_inplace: true, scale: 0.5 }).code == '200' && ![said['f32'], plain].include?(adapter_says(uri, 'a:x')))
    check('and without', load.(uri, { lora_name: 'x', load_inplace: true }).code == '200' && adapter_says(uri, 'a:x') == said['f32'])
    put.('bad', 'bad')
    [[{ lora_name: 'bad' }, '400', 'lora_name'], [{ lora_name: 'none' }, '404', 'lora_name'], [{}, '400', 'lora_name'], [{ lora_name: '../store/f32' }, '400', 'lora_name'],
     [{ lora_name: 'a b' }, '400', 'lora_name'], [{ lora_name: 'x', lora_path: '/etc/passwd' }, '400', 'lora_path'], [{ lora_name: 'x', model: 'no' }, '404', 'model'],
     [{ lora_name: 'x' * 64 }, '400', 'lora_name']].each do |body, status, param|
      reply = load.(uri, body)
      check("#{body}: #{reply.code} #{reply.body}", reply.code == status && error_of(reply)['param'] == param && !reply.body.include?('passwd'))
    end
    check('all as before', names.(uri) == %w[a a:y a:x] && adapter_says(uri, 'a:y') == said['bf16'])
    # Three have room for two.
    put.('f32', 'z')
    check('a third', load.(uri, { lora_name: 'z' }).code == '200')
    check('each in its turn', %w[x y z x z y].all? { |n| adapter_says(uri, "a:#{n}") == said[{ 'x' => 'f32', 'y' => 'bf16', 'z' => 'f32' }[n]] })
    put.('f16', 'x') # which is not in the batch
    check('another file is not taken for it', adapter_says(uri, 'a:x') == '500')
    put.('f32', 'x')
    check('but this is', adapter_says(uri, 'a:x') == said['f32'])
    codes = 24.times.map { |i| Thread.new { [%w[x y z][i % 3], adapter_says(uri, "a:#{%w[x y z][i % 3]}")] } }.map(&:value)
    check("at a time: #{codes.map { |_, c| c.is_a?(String) ? c : 'said' }.tally}", codes.all? { |n, c| c == '429' || c == said[n == 'y' ? 'bf16' : 'f32'] })
    check('and gone', ask(uri, 'POST', '/v1/unload_lora_adapter', { lora_name: 'z' }).code == '200' && adapter_says(uri, 'a:z') == '404' &&
                      ask(uri, 'POST', '/v1/unload_lora_adapter', { lora_name: 'z' }).code == '404' && names.(uri) == %w[a a:y a:x])
    check('as often as one likes', 40.times.all? { load.(uri, { lora_name: 'x', load_inplace: true }).code == '200' && adapter_says(uri, 'a:x', max_tokens: 1).is_a?(Array) })
    # SIGHUP: x is another, y is damaged, z is new again, w was never there, bad stays bad.
    put.('f16', 'x')
    put.('bad', 'y')
    put.('f32', 'w')
    Process.kill('HUP', pid)
    check('a signal', wait_until { File.read(log).include?('a:w: taken') && File.read(log).include?('a:bad') && File.read(log).include?('a:z: taken') })
    told = File.read(log)
    check("is told of: #{told}", told.include?('adapter a:x: taken anew') && told.match?(/adapter a:y: .*y\.gguf/) && !told.include?('a:y: taken'))
    check('what changed is there', adapter_says(uri, 'a:x') == said['f16'] && adapter_says(uri, 'a:w') == said['f32'] && adapter_says(uri, 'a:z') == said['f32'])
    File.delete(File.join(folder, 'w.gguf'))
    Process.kill('HUP', pid)
    check('what is gone is dropped', wait_until { File.read(log).include?('a:w: dropped') } && adapter_says(uri, 'a:w') == '404')
  end
  keys = File.join(dir, 'adapter-keys')
  File.write(keys, "ann secret-of-ann-12345\nops secret-of-ops-12345 admin\n")
  File.chmod(0o600, keys)
  File.delete(File.join(folder, 'bad.gguf'), File.join(folder, 'y.gguf'))
  serve("a=#{llama}", '--adapters', "a:#{folder}", '--api-keys', keys) do |uri, _|
    by = ->(who, path, body) { ask(uri, 'POST', path, body, 'Authorization' => "Bearer secret-of-#{who}-12345").code }
    check('it takes the right', by.('ann', '/v1/unload_lora_adapter', { lora_name: 'x' }) == '403' && by.('ops', '/v1/unload_lora_adapter', { lora_name: 'x' }) == '200' &&
                                by.('ann', '/v1/completions', { model: 'a:x', prompt: [5], max_tokens: 1 }) == '404' &&
                                by.('ann', '/v1/completions', { model: 'a:z', prompt: [5], max_tokens: 1 }) == '200')
  end
  refused(["a=#{llama}", '--adapters', '/no/such'], '/no/such')
  refused(["a=#{llama}", '--adapters', folder, '--adapters', folder], 'has a folder already')
  refused(["a=#{llama}", '--adapters', folder, '--lora', "x=#{store}/f32.gguf"], 'two adapters of this name')
end

# ---- its end ----

def check_end
  serve do |uri, pid|
    text = +''
    Net::HTTP.start(uri.host, uri.port) do |http|
      request = Net::HTTP::Post.new('/v1/completions', 'Content-Type' => 'application/json')
      request.body = JSON.generate(prompt: 'Once upon a time', max_tokens: 300, ignore_eos: true, stream: true, seed: 1)
      http.request(request) do |reply|
        reply.read_body do |piece|
          $killed ||= Process.kill('TERM', pid)
          text << piece
        end
      end
    end
    check('who is answered is answered to the end', text.end_with?("data: [DONE]\n\n"))
  end
  serve('--drain', '0') do |uri, pid|
    text = +''
    begin
      Net::HTTP.start(uri.host, uri.port) do |http|
        request = Net::HTTP::Post.new('/v1/completions', 'Content-Type' => 'application/json')
        request.body = JSON.generate(prompt: 'Once upon a time', max_tokens: 400, ignore_eos: true, stream: true, n: 16, seed: 1)
        http.request(request) do |reply|
          reply.read_body do |piece|
            $killed ||= Process.kill('TERM', pid)
            text << piece
          end
        end
      end
    rescue EOFError, Errno::ECONNRESET => e
      text << e.class.name
    end
    check("or told that it ends: #{text[-200..]}", text.include?('server_is_ending') || text.end_with?("data: [DONE]\n\n"))
  end
end

Dir.mktmpdir do |dir|
  check_answers
  check_scores
  check_forms
  check_refusals
  check_replays(dir)
  check_clock(dir)
  check_variants(dir)
  check_formats(dir)
  check_long_rules
  check_calls(dir)
  check_keys(dir)
  check_log(dir)
  check_full
  check_disk(dir)
  check_full_disk(dir)
  check_models
  check_memory
  check_adapters(dir)
  check_times
  check_end
  refused(['/no/such.gguf'], '/no/such.gguf')
  refused(["a=#{MODELS}/llama", "a=#{MODELS}/qwen3"], 'two models of this name')
  refused(['--lora', 'x'], 'NAME=FILE')
  refused(['--lora', 'x=/no/such'], '/no/such')
  refused(['--log', 'loud'], '--log loud')
  taken = TCPServer.new('127.0.0.1', 0)
  refused(['--port', taken.addr[1].to_s], 'port')
  taken.close
end
close_checks
