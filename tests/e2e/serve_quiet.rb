# serve_quiet.rb BUILD SOURCE: see serve_quiet.sh.
require File.join(ARGV[1], 'tests/harness/serve')

# What the system is asked for its own sake: how much memory is free, what the time is here.
OF_THE_SYSTEM = %r{\A(/proc/|/sys/|/etc/localtime\z|/usr/share/zoneinfo/)}

SAID = [{ role: 'user', content: 'Tell me a story' }].freeze

# Every field that names something elsewhere: each is refused by its name, and the one that is a text alone is answered.
def ask_for_elsewhere(uri, file)
  http, here = "http://127.0.0.1:#{uri.port + 1}/x.png", "file://#{file}"
  part = ->(type, value) { [{ role: 'user', content: [{ type: 'text', text: 'see' }, { type: type, type => value }] }] }
  schema = ->(ref) { { type: 'json_schema', json_schema: { name: 'x', schema: { '$ref' => ref } } } }
  chat = [http, here].flat_map do |url|
    [[{ messages: part.('image_url', { url: url }) }, 'messages'], [{ messages: part.('file', { file_url: url }) }, 'messages'],
     [{ messages: part.('input_audio', { url: url }) }, 'messages'], [{ messages: SAID, response_format: schema.(url) }, 'response_format'],
     [{ messages: SAID, grammar: "root ::= <#{url}>" }, 'grammar'], [{ messages: SAID, tools: [{ type: 'mcp', server_url: url }] }, 'tools'],
     [{ messages: SAID, web_search_options: { url: url } }, 'web_search_options']]
  end
  chat.each do |body, param|
    reply = ask(uri, 'POST', '/v1/chat/completions', body.merge(max_tokens: 1))
    check("#{body}: #{reply.code} #{reply.body}", reply.code == '400' && error_of(reply)['param'].to_s.start_with?(param))
  end
  [['/v1/responses', { input: [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: http }] }] }],
   ['/v1/responses', { input: [{ type: 'message', role: 'user', content: [{ type: 'input_file', file_url: here }] }] }],
   ['/v1/responses', { input: 'a', tools: [{ type: 'mcp', server_label: 'x', server_url: http }] }],
   ['/v1/messages', { max_tokens: 1, messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: http } }] }] }],
   ['/v1/messages', { max_tokens: 1, messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url: here } }] }] }],
   ['/v1/messages', { max_tokens: 1, messages: SAID, mcp_servers: [{ type: 'url', url: http, name: 'x' }] }],
   ['/api/chat', { messages: [{ role: 'user', content: 'a', images: [http] }] }],
   ['/v1/load_lora_adapter', { lora_name: 'x', lora_path: file }]].each do |path, body|
    reply = ask(uri, 'POST', path, body)
    check("#{path} #{body}: #{reply.code} #{reply.body}", reply.code.start_with?('4'))
  end
  [['GET', "/page/..%2f..%2f#{file}"], ['GET', "//#{file}"], ['GET', "/v1/models/#{file}"]].each do |method, path|
    check("#{path} is none", ask(uri, method, path).code.start_with?('4'))
  end
  reply = ask(uri, 'POST', '/v1/chat/completions', { messages: [{ role: 'user', content: "#{http} #{here}" }], max_tokens: 3 })
  check("in a text it is words: #{reply.code}", reply.code == '200')
end

Dir.mktmpdir do |dir|
  trace, file, names = %w[trace secret.png out].map { |f| File.join(dir, f) }
  File.write(file, 'secret')
  watch = TCPServer.new('127.0.0.1', 0)
  out = IO.pipe
  pid = Process.spawn('strace', '-f', '-qq', '-s', '300', '-e', 'trace=connect,socket,open,openat,openat2,stat,lstat,statx,newfstatat,access,write', '-o', trace, HONE, 'serve', '--port', '0',
                      '--threads', '2', out: out[1], err: names)
  begin
    uri = URI(out[0].gets.strip)
    ask_for_elsewhere(uri, file)
  ensure
    Process.kill('TERM', File.read("/proc/#{pid}/task/#{pid}/children").to_i)
    Process.wait(pid)
  end
  lines = File.readlines(trace)
  began = lines.index { |l| l.include?("write(1, \"#{uri}") }
  check('it was traced', began && lines.size > began + 1)
  check("no connection: #{lines.grep(/ connect\(/)}", lines.grep(/ connect\(/).empty?)
  sockets = lines.grep(/ socket\(/)
  check("one socket, to listen: #{sockets}", sockets.size == 1 && sockets[0].include?('AF_INET'))
  opened = lines[began..].grep(/ (open|openat|openat2|stat|lstat|statx|newfstatat|access)\(/).filter_map { |l| l[/"([^"]+)"/, 1] }.grep_v(OF_THE_SYSTEM)
  check("no file: #{opened.uniq}", opened.empty?)
  check('and none by that name', lines.grep(/secret\.png/).none? { |l| l.include?('open') || l.include?('stat') })
  check('nobody came', !watch.accept_nonblock(exception: false).is_a?(TCPSocket))
end
close_checks
