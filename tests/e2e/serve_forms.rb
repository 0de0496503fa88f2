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
  check('without a text', prompt.(go.({ role: 'assistant', content: nil })) == said.(''))
  check('as OpenAI sends one', prompt.(go.({ role: 'assistant', content: nil, refusal: nil, annotations: [] })) == said.(''))
  check('refusing', prompt.(go.({ role: 'assistant', content: nil, refusal: 'I will not' })) == said.('I will not'))
  check('beside a text', prompt.(go.({ role: 'assistant', content: 'so', refusal: 'I will not' })) == said.('so'))
  check('a user says something', go.({ role: 'user', content: nil }).code == '400')
end

Dir.mktmpdir do |_dir|
  serve do |uri, _|
    check_params(uri)
    check_sent_back(uri)
  end
end
close_checks
