# serve.rb: what tests of `hone serve` share: a server, questions, answers made again. ARGV: BUILD SOURCE.
require 'fileutils'
require 'json'
require 'net/http'
require 'open3'
require 'socket'
require 'tmpdir'

BUILD, SOURCE = ARGV
HONE = File.join(BUILD, 'hone')
MODELS = File.join(SOURCE, 'tests/differential/models')
$failed = 0
$passed = 0
$killed = false

def check(what, holds)
  holds ? $passed += 1 : ($failed += 1; warn "FAILED: #{what}")
end

# A server with these words, on a port that is free; its address, and what it wrote on stderr, are the block's.
def serve(*words, log: nil)
  out, err = IO.pipe, IO.pipe
  pid = Process.spawn(HONE, 'serve', '--port', '0', *words, out: out[1], err: log || err[1])
  out[1].close
  err[1].close
  line = out[0].gets
  unless line
    warn "hone serve #{words.join(' ')}: #{err[0].read}"
    Process.wait pid
    check('it begins', false)
    return
  end
  yield URI(line.strip), pid
ensure
  begin
    Process.kill('TERM', pid) unless $killed # a second one would end it at once
    $killed = false
  rescue Errno::ESRCH
  end
  status = Process.wait2(pid)[1] rescue nil
  check('it ends well after SIGTERM', status.nil? || status.exitstatus == 0)
end

def ask(uri, method, path, body = nil, fields = {})
  Net::HTTP.start(uri.host, uri.port, read_timeout: 60) do |http|
    request = Net::HTTPGenericRequest.new(method, !body.nil?, true, path, { 'Content-Type' => 'application/json' }.merge(fields))
    request.body = body.is_a?(String) ? body : JSON.generate(body) if body
    http.request(request)
  end
end

def error_of(reply) = JSON.parse(reply.body)['error']

def refused(words, expected)
  said, status = Open3.capture2e(HONE, 'serve', '--port', '0', *words)
  check("hone serve #{words.join(' ')}: exit #{status.exitstatus}, #{said}", status.exitstatus != 0 && said.include?(expected))
end

# An answer made again: exit status, and what was said.
def replay(dir, answer, *words)
  file = File.join(dir, 'answer.json')
  File.write(file, answer.is_a?(String) ? answer : JSON.generate(answer))
  said, status = Open3.capture2e(HONE, 'replay', *words, file)
  [status.exitstatus, said]
end

# How many of all checks held; exits.
def close_checks
  puts "#{$passed} passed, #{$failed} failed"
  exit $failed.zero?
end

MARKS = %w[<think> </think> <tool_call> </tool_call> <|im_start|> <|im_end|> [TOOL_CALLS] [ARGS] [INST] [/INST]].freeze

# A model whose thoughts and calls are tokens of their own, of random weights: what it says is for grammars to tell. Its template is one
# of those that are real, or a text.
def marked_model(dir, template, marks: MARKS, text: File.read(File.join(SOURCE, 'tests/differential/templates/real', "#{template}.jinja")))
  from, at = File.join(MODELS, 'qwen3'), File.join(dir, "tokenizer-#{template}")
  Dir.mkdir(at)
  tokenizer, config = %w[tokenizer.json tokenizer_config.json].map { |f| JSON.parse(File.read(File.join(from, f))) }
  id = (tokenizer['model']['vocab'].values + tokenizer['added_tokens'].map { |t| t['id'] }).max
  marks.each do |mark|
    tokenizer['added_tokens'] << { id: id += 1, content: mark, single_word: false, lstrip: false, rstrip: false, normalized: false,
                                   special: !mark.match?(/think|call/) }
  end
  config['chat_template'] = text
  { 'tokenizer.json' => tokenizer, 'tokenizer_config.json' => config }.each { |f, v| File.write(File.join(at, f), JSON.generate(v)) }
  File.write(File.join(at, 'config.json'), File.read(File.join(from, 'config.json')))
  file = File.join(dir, "#{template}.gguf")
  system(HONE, 'new', 'qwen3', file, 'layers=1', 'width=32', 'heads=2', 'head_dim=16', 'context=16384', '--tokenizer', at, out: File::NULL, err: File::NULL)
  file
end
