# page.rb BUILD SOURCE: see page.sh. tools/page/check.sh drives the page in a browser.
require 'net/http'
require 'tmpdir'

BUILD, SOURCE = ARGV
HONE = File.join(BUILD, 'hone')
FILES = Dir[File.join(SOURCE, 'src/server/page/*')].sort
TYPES = { '.html' => 'text/html; charset=utf-8', '.css' => 'text/css; charset=utf-8', '.js' => 'text/javascript; charset=utf-8' }
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; " \
         "form-action 'none'; frame-ancestors 'none'"
$passed = 0
$failed = 0

def check(what, holds)
  holds ? $passed += 1 : ($failed += 1; warn "FAILED: #{what}")
end

def serve(*words)
  out = IO.pipe
  pid = Process.spawn(HONE, 'serve', '--port', '0', *words, out: out[1], err: File::NULL)
  out[1].close
  yield URI(out[0].gets.strip)
ensure
  Process.kill('TERM', pid)
  Process.wait(pid)
end

def ask(uri, path, fields = {})
  Net::HTTP.start(uri.host, uri.port, read_timeout: 60) { |http| http.request(Net::HTTP::Get.new(path, { 'Accept-Encoding' => 'identity' }.merge(fields))) }
end

# ---- as it is served ----

def check_file(uri, path, file)
  reply = ask(uri, path)
  check("#{path}: status #{reply.code}", reply.code == '200')
  check("#{path}: has the bytes of its file", reply.body.b == File.binread(file))
  check("#{path}: type #{reply['Content-Type']}", reply['Content-Type'] == TYPES[File.extname(file)])
  check("#{path}: policy #{reply['Content-Security-Policy']}", reply['Content-Security-Policy'] == POLICY)
  { 'X-Content-Type-Options' => 'nosniff', 'Referrer-Policy' => 'no-referrer', 'X-DNS-Prefetch-Control' => 'off', 'Cache-Control' => 'no-cache',
    'Cross-Origin-Opener-Policy' => 'same-origin', 'Cross-Origin-Resource-Policy' => 'same-origin' }.each do |name, value|
    check("#{path}: #{name} #{reply[name]}", reply[name] == value)
  end
  check("#{path}: sets no cookie", reply['Set-Cookie'].nil?)
  again = ask(uri, path, 'If-None-Match' => reply['ETag'])
  check("#{path}: known by #{reply['ETag']}", again.code == '304' && again.body.to_s.empty? && again['ETag'] == reply['ETag'])
  check("#{path}: another tag is not known", ask(uri, path, 'If-None-Match' => '"0"').code == '200')
end

def check_served(uri)
  check_file(uri, '/', File.join(SOURCE, 'src/server/page/index.html'))
  FILES.each { |file| check_file(uri, "/page/#{File.basename(file)}", file) }
  ['/page/', '/page/none.js', '/page/../page.c', '/page/%2e%2e/page.c', '/page/Main.js', '/page/main.js/'].each do |path|
    check("#{path}: is not there", %w[400 401 404].include?(ask(uri, path).code))
  end
end

def check_keys(folder)
  keys = File.join(folder, 'keys')
  File.write(keys, "someone a-secret-of-32-characters-000000\n", perm: 0o600)
  serve('--api-keys', keys) do |uri|
    check_served(uri)
    check('what is somebody\'s takes a key', ask(uri, '/v1/models').code == '401')
    check('what is somebody\'s is had with it', ask(uri, '/v1/models', 'Authorization' => 'Bearer a-secret-of-32-characters-000000').code == '200')
  end
end

def check_host(uri)
  check('a foreign Host gets no page', ask(uri, '/', 'Host' => 'attack.invalid').code == '421')
  check('a foreign Origin gets no file', ask(uri, '/page/main.js', 'Origin' => 'http://attack.invalid').code == '403')
end

# ---- as it is written ----

# What would let words become elements, programs or requests to elsewhere.
BANNED = [/innerHTML/, /outerHTML/, /insertAdjacentHTML/, /document\.write/, /\beval\b(?!-every)/, /new Function/, /DOMParser/, /createContextualFragment/,
          /setHTML/, /srcdoc/, /javascript:/, /XMLHttpRequest/, /sendBeacon/, /WebSocket/, /EventSource/, /\bWorker\(/, /window\.open/, /setAttribute\('style'/,
          /setTimeout\(\s*['"`]/, /@import/, /\burl\(/, /location\s*=/]
NAMESPACES = ['http://www.w3.org/1998/Math/MathML', 'http://www.w3.org/2000/svg'] # names, which nothing fetches

def check_source(file)
  name = File.basename(file)
  text = File.read(file, encoding: 'UTF-8')
  check("#{name}: UTF-8", text.valid_encoding?)
  BANNED.each { |banned| check("#{name}: has #{banned.source}", !text.match?(banned)) }
  foreign = text.scan(%r{https?://[\w.-]+[^\s'"`)]*}) - NAMESPACES
  check("#{name}: names #{foreign}", foreign.empty?)
  check("#{name}: no file is over 600 lines", text.lines.size <= 600)
  text.scan(/(?:from|import)\s*\(?'([^']*)'/).flatten.each do |from|
    check("#{name}: imports #{from}", from.start_with?('./') && FILES.include?(File.join(SOURCE, 'src/server/page', from.delete_prefix('./'))))
  end
end

def check_page
  text = File.read(File.join(SOURCE, 'src/server/page/index.html'))
  check('a handler in the page', !text.match?(/\son\w+\s*=/i))
  check('a style in the page', !text.match?(/<style|\sstyle\s*=/i))
  check('a program in the page', text.scan(/<script[^>]*>([^<]*)/).flatten.all?(&:empty?))
  ids = text.scan(/\sid="([^"]*)"/).flatten
  check("ids twice: #{ids.tally.select { |_, n| n > 1 }.keys}", ids.uniq == ids)
  used = FILES.flat_map { |file| File.read(file).scan(/byId\('([^']*)'\)/).flatten }.uniq
  made = %w[set-temperature set-seed]
  check("ids that the page has not: #{used - ids - made}", (used - ids - made).empty?)
  check('files of another kind', FILES.all? { |file| TYPES.key?(File.extname(file)) })
end

check("under 300 KB: #{FILES.sum { |file| File.size(file) }}", FILES.sum { |file| File.size(file) } < 300_000 && FILES.size > 5)
FILES.each { |file| check_source(file) }
check_page
serve { |uri| check_served(uri); check_host(uri) }
Dir.mktmpdir { |folder| check_keys(folder) }
puts "#{$passed} passed, #{$failed} failed"
exit($failed.zero?)
