# serve_responses.rb BUILD SOURCE: see serve_responses.sh.
require File.join(ARGV[1], 'tests/harness/serve')

PATH = '/v1/responses'.freeze
LOOK = { type: 'function', name: 'look', description: 'a place', strict: true,
         parameters: { type: 'object', properties: { n: { type: 'integer', minimum: 3, maximum: 17 } }, required: ['n'], additionalProperties: false } }.freeze

def respond(uri, body, fields = {}) = JSON.parse(ask(uri, 'POST', PATH, { max_output_tokens: 12, seed: 5 }.merge(body), fields).body)
def text_of(response) = response['output'].select { |i| i['type'] == 'message' }.flat_map { |i| i['content'].map { |p| p['text'] } }.join
def stream(uri, body) = ask(uri, 'POST', PATH, { max_output_tokens: 12, seed: 5, stream: true }.merge(body)).body.scan(/^event: (.*)\ndata: (.*)$/).map { |n, d| [n, JSON.parse(d)] }

# A response without what is its own: ids, times, what is cached.
def bare(response)
  text = JSON.generate(response.except('id', 'created_at', 'usage', 'recipe'))
  JSON.parse(text.gsub(/"(msg|rs|fc|call)_\h{16,}_[\d_]+"/, '"ID"'))
end

# ---- what is said ----

def check_text(uri, dir)
  said = [{ role: 'user', content: 'Tell me a story' }]
  chat = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: said, max_tokens: 12, seed: 5 }).body)['choices'][0]['message']['content']
  whole = respond(uri, input: 'Tell me a story', recipe: true)
  check("a response: #{whole}", whole['object'] == 'response' && whole['status'] == 'incomplete' && whole['incomplete_details'] == { 'reason' => 'max_output_tokens' } &&
                                text_of(whole) == chat && whole['usage']['output_tokens'] == 12 && whole['id'].start_with?('resp_'))
  check("made again: #{replay(dir, whole)}", replay(dir, whole)[0].zero?)
  other = JSON.parse(JSON.generate(whole))
  other['output'][0]['content'][0]['text'] += '!'
  check('another text', replay(dir, other)[1].include?('the text differs'))
  items = respond(uri, input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Tell me a story' }] }])
  check('of items too', text_of(items) == chat)
  system = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: [{ role: 'system', content: 'Be brief.' }] + said, max_tokens: 12, seed: 5 }).body)
  check('instructions', text_of(respond(uri, input: 'Tell me a story', instructions: 'Be brief.')) == system['choices'][0]['message']['content'])
  scores = respond(uri, input: 'Tell me a story', include: ['message.output_text.logprobs'], top_logprobs: 2)['output'][0]['content'][0]['logprobs']
  check('log-probabilities', scores.map { |s| s['token'] }.join == chat && scores.all? { |s| s['top_logprobs'].size == 2 && s['logprob'] <= 0 })
  schema = { type: 'json_schema', name: 'a', schema: { type: 'object', properties: { n: { type: 'integer', maximum: 9 } }, required: ['n'], additionalProperties: false } }
  held = respond(uri, input: 'a', max_output_tokens: 100, text: { format: schema })
  check("a schema: #{text_of(held)}", held['status'] == 'completed' && JSON.parse(text_of(held))['n'] <= 9 && held['text'] == JSON.parse(JSON.generate({ format: schema })))
  check_events(stream(uri, input: 'Tell me a story'), respond(uri, input: 'Tell me a story'))
  scored = stream(uri, input: 'Tell me a story', include: ['message.output_text.logprobs'], top_logprobs: 2)
  of = ->(name) { scored.select { |n, _| n == "response.#{name}" }.map { |_, e| e } }
  check('log-probabilities of a stream', [of.('output_text.delta').flat_map { |e| e['logprobs'] }, of.('output_text.done')[0]['logprobs'], of.('content_part.done')[0]['part']['logprobs']].all?(scores) &&
                                         of.('content_part.added')[0]['part']['logprobs'] == [] && scores.size == 12)
end

# A stream's events are numbered, say each item from its beginning to its end, and come to the whole response.
def check_events(events, whole)
  check('named as they are', events.all? { |name, e| e['type'] == name })
  check('numbered', events.map { |_, e| e['sequence_number'] } == (0...events.size).to_a)
  check('begun', events[0, 2].map(&:first) == %w[response.created response.in_progress] && events[0][1]['response']['status'] == 'in_progress')
  check("ended: #{events.last[1]}", events.last[0] == "response.#{whole['status']}" && bare(events.last[1]['response']) == bare(whole))
  output = events.last[1]['response']['output']
  output.each_with_index do |item, i|
    own = events.select { |_, e| e['output_index'] == i }
    kinds = own.map(&:first).chunk_while { |a, b| a == b }.map(&:first)
    name = { 'message' => 'response.output_text', 'reasoning' => 'response.reasoning_text', 'function_call' => 'response.function_call_arguments' }[item['type']]
    part = item['type'] == 'function_call' ? [] : ['response.content_part']
    check("an item's events: #{kinds}", kinds == ['response.output_item.added', *part.map { |p| "#{p}.added" }, "#{name}.delta", "#{name}.done",
                                                 *part.map { |p| "#{p}.done" }, 'response.output_item.done'])
    said = own.select { |n, _| n == "#{name}.delta" }.map { |_, e| e['delta'] }.join
    check('its pieces', said == (item['arguments'] || item['content'][0]['text']) && own.last[1]['item'].except('content') == item.except('content') &&
                        own.all? { |_, e| [nil, item['id']].include?(e['item_id']) })
    check('its beginning', own[0][1]['item']['id'] == item['id'] && own[0][1]['item']['status'] == 'in_progress' && own[0][1]['item']['type'] == item['type'])
  end
end

# ---- calls and thoughts, and what goes on from them ----

def check_calls(uri, model, dir)
  asked = { input: 'Where?', tools: [LOOK], tool_choice: 'required', parallel_tool_calls: false, max_output_tokens: 400, thinking_budget: 6 }
  (1..3).each do |seed|
    whole = respond(uri, asked.merge(seed: seed, recipe: true))
    call = whole['output'].last
    check("a call: #{whole['output']}", whole['status'] == 'completed' && call['type'] == 'function_call' && call['name'] == 'look' && (3..17).cover?(JSON.parse(call['arguments'])['n']))
    check("made again: #{replay(dir, whole, model)}", replay(dir, whole, model)[0].zero?)
    check_events(stream(uri, asked.merge(seed: seed)), respond(uri, asked.merge(seed: seed)))
    result = { type: 'function_call_output', call_id: call['call_id'], output: 'here' }
    going = respond(uri, previous_response_id: whole['id'], input: [result], tools: [LOOK])
    by_hand = respond(uri, input: [{ role: 'user', content: 'Where?' }] + whole['output'] + [result], tools: [LOOK])
    check("what came before comes back: #{going}", going['usage']['input_tokens'] == by_hand['usage']['input_tokens'] && text_of(going) == text_of(by_hand) &&
                                                  going['previous_response_id'] == whole['id'])
    listed = JSON.parse(ask(uri, 'GET', "#{PATH}/#{going['id']}/input_items?order=asc&limit=100").body)
    check("its items: #{listed}", listed['object'] == 'list' && listed['data'].map { |i| i['type'] } == ['message'] + whole['output'].map { |i| i['type'] } + ['function_call_output'] &&
                                  listed['data'].all? { |i| i['id'] } && listed['data'][1..-2] == whole['output'] && !listed['has_more'])
    ids = listed['data'].map { |i| i['id'] }
    page = JSON.parse(ask(uri, 'GET', "#{PATH}/#{going['id']}/input_items?limit=1&after=#{ids.last}").body)
    check('a page of them', page['data'].map { |i| i['id'] } == [ids[-2]] && page['has_more'] && page['last_id'] == ids[-2])
    refer = ->(id) { { type: 'item_reference', id: id } }
    named = respond(uri, input: [{ role: 'user', content: 'Where?' }] + whole['output'].map { |i| refer.(i['id']) } + [result], tools: [LOOK], seed: 8)
    check('items by their ids', named['usage']['input_tokens'] == going['usage']['input_tokens'])
    inside = respond(uri, input: listed['data'].first(2).map { |i| refer.(i['id']) } + ['user'].map { |r| { role: r, content: 'b' } }, tools: [LOOK])
    kept = JSON.parse(ask(uri, 'GET', "#{PATH}/#{inside['id']}/input_items?order=asc").body)['data']
    check("what went in too, as it stands: #{kept}", kept.first(2) == listed['data'].first(2) && kept.size == 3)
    third = respond(uri, previous_response_id: going['id'], input: 'And?', tools: [LOOK])
    check('and on', third['usage']['input_tokens'] > going['usage']['input_tokens'])
  end
  chat = [{ role: 'user', content: 'Where?' }, { role: 'assistant', content: 'So.', reasoning_content: 'hm', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"n": 5}' } }] },
          { role: 'tool', tool_call_id: 'c1', content: 'here' }]
  items = [{ role: 'developer', content: 'Be brief.' }, { role: 'user', content: 'Where?' }, { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
           { role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }, { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"n": 5}' },
           { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'here' }] }]
  told = respond(uri, input: 'Where?', max_output_tokens: 200, client_metadata: { a: 'b' }, grammar: 'root ::= "So. <tool_call>\\n{\\"name\\": \\"look\\", \\"arguments\\": {\\"n\\": 4}}\\n</tool_call>"', tools: [LOOK])
  check("rules of its own: #{told['output']}", told['output'].map { |i| i['type'] } == %w[message function_call] && told['output'][1]['arguments'] == '{"n": 4}')
  tokens = JSON.parse(ask(uri, 'POST', '/v1/chat/completions', { messages: [{ role: 'system', content: 'Be brief.' }] + chat, max_tokens: 1 }).body)['usage']['prompt_tokens']
  check('items are one message', respond(uri, input: items)['usage']['input_tokens'] == tokens)
end

# ---- what is kept ----

def check_kept(uri)
  kept = respond(uri, input: 'a')
  got = ask(uri, 'GET', "#{PATH}/#{kept['id']}")
  check('it is kept by default', kept['store'] == true && got.code == '200' && JSON.parse(got.body) == kept)
  loose = respond(uri, input: 'a', store: false)
  check('or not', loose['store'] == false && ask(uri, 'GET', "#{PATH}/#{loose['id']}").code == '404')
  gone = JSON.parse(ask(uri, 'DELETE', "#{PATH}/#{kept['id']}").body)
  check('it is deleted', gone == { 'id' => kept['id'], 'object' => 'response', 'deleted' => true } && ask(uri, 'GET', "#{PATH}/#{kept['id']}").code == '404' &&
                         ask(uri, 'DELETE', "#{PATH}/#{kept['id']}").code == '404')
  check('of streams too', JSON.parse(ask(uri, 'GET', "#{PATH}/#{stream(uri, input: 'a').last[1]['response']['id']}").body)['status'] == 'incomplete')
  [[{ previous_response_id: kept['id'], input: 'b' }, '404', 'previous_response_id'], [{}, '400', 'input'], [{ input: [] }, '400', 'input'],
   [{ input: [{ type: 'item_reference', id: 'a' }] }, '404', 'input'], [{ input: [{ type: 'item_reference' }] }, '404', 'input'], [{ input: [{ type: 'item_reference', id: "msg#{kept['id'][4..]}_0" }] }, '404', 'input'],
   [{ input: [{ type: 'item_reference', id: "msg_#{'a' * 500}_0" }] }, '404', 'input'], [{ input: [{ type: 'item_reference', id: "in#{ask(uri, 'GET', "#{PATH}/#{loose['id']}").code && respond(uri, input: 'a')['id'][4..]}_0" }] * 65 }, '400', 'input'], [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://127.0.0.1/' }] }] }, '400', 'input'],
   [{ input: [{ role: 'owner', content: 'a' }] }, '400', 'input[0].role'], [{ input: [{ type: 'function_call_output', output: 'a' }] }, '400', 'input'],
   [{ input: 'a', background: true }, '400', 'background'], [{ input: 'a', conversation: 'c' }, '400', 'conversation'], [{ input: 'a', tools: [{ type: 'web_search' }] }, '400', 'tools'],
   [{ input: 'a', tool_choice: { type: 'mcp' } }, '400', 'tool_choice'], [{ input: 'a', include: ['file_search_call.results'] }, '400', 'include'],
   [{ input: 'a', text: { format: { type: 'xml' } } }, '400', 'text.format.type'], [{ input: 'a', reasoning: { mode: 'pro' } }, '400', 'reasoning.mode'],
   [{ input: 'a', truncation: 'auto' }, '400', 'truncation'], [{ input: 'a', grammar: 'root ::= no' }, '400', 'grammar'],
   [{ input: 'a', grammar: 'root ::= "a"', text: { format: { type: 'json_object' } } }, '400', 'grammar']].each do |body, code, param|
    reply = ask(uri, 'POST', PATH, body)
    check("#{body}: #{reply.code} #{reply.body}", reply.code == code && error_of(reply)['param'] == param)
  end
  [['GET', "#{PATH}/#{respond(uri, input: 'a')['id']}?stream=true", '400'], ['POST', "#{PATH}/resp_1/cancel", '400'], ['GET', "#{PATH}/resp_1/other", '404'],
   ['GET', "#{PATH}/#{respond(uri, input: 'a')['id']}/input_items?limit=0", '400'], ['GET', "#{PATH}/#{respond(uri, input: 'a')['id']}/input_items?after=in_0", '400'], ['GET', "#{PATH}/#{respond(uri, input: 'a')['id']}/input_items?size=2", '400']].each do |method, path, code|
    reply = ask(uri, method, path, method == 'POST' ? {} : nil)
    check("#{method} #{path}: #{reply.code}", reply.code == code)
  end
end

def check_owners(dir)
  keys = File.join(dir, 'keys')
  File.write(keys, "alice aaaaaaaaaaaaaaaaaaaa\nbob bbbbbbbbbbbbbbbbbbbbbb\n", perm: 0600)
  alice, bob = { 'x-api-key' => 'a' * 20 }, { 'x-api-key' => 'b' * 22 }
  serve('--api-keys', keys, '--share-cache', '--responses-kept', '2') do |uri, _|
    first = respond(uri, { input: 'a' }, alice)
    path = "#{PATH}/#{first['id']}"
    check('another key sees none of it', ask(uri, 'GET', path, nil, bob).code == '404' && ask(uri, 'DELETE', path, nil, bob).code == '404' &&
                                         ask(uri, 'POST', PATH, { previous_response_id: first['id'], input: 'b' }, bob).code == '404' &&
                                         ask(uri, 'POST', PATH, { input: [{ type: 'item_reference', id: first['output'][0]['id'] }] }, bob).code == '404' &&
                                         ask(uri, 'POST', PATH, { input: [{ type: 'item_reference', id: first['output'][0]['id'] }] }, alice).code == '200' && ask(uri, 'GET', path, nil, alice).code == '200')
    3.times { respond(uri, { input: 'a' }, bob) }
    check('nor takes its place', ask(uri, 'GET', path, nil, alice).code == '200')
    2.times { respond(uri, { input: 'a' }, alice) }
    check('the oldest of a key makes room', ask(uri, 'GET', path, nil, alice).code == '404')
  end
  serve('--responses-bytes', '3000') do |uri, _|
    large = respond(uri, input: 'a ' * 100, metadata: (1..6).to_h { |i| [i.to_s, 'b' * 500] })
    check('what is too large is not kept, and says so', large['store'] == false && ask(uri, 'GET', "#{PATH}/#{large['id']}").code == '404')
  end
end

Dir.mktmpdir do |dir|
  serve do |uri, _|
    check_text(uri, dir)
    check_kept(uri)
    reply = ask(uri, 'POST', '/v1/rerank', { query: 'a', documents: %w[b c] })
    check("no model ranks: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'model')
  end
  model = marked_model(dir, 'qwen3')
  serve(model, '--context', '4096') { |uri, _| check_calls(uri, model, dir) }
  check_owners(dir)
end
close_checks
