# jobs.rb BUILD SOURCE: see jobs.sh. HN_JOB_KILLS: how often a server is killed in the middle of training (3).
require 'digest'
require 'fileutils'
require 'json'
require 'net/http'
require 'open3'
require 'tmpdir'
require File.join(ARGV[1], 'tests/harness/small_disk')

BUILD, SOURCE = ARGV
HONE = File.join(BUILD, 'hone')
KILLS = Integer(ENV.fetch('HN_JOB_KILLS', '3'))
$failed = 0
$passed = 0

def check(what, holds)
  holds ? $passed += 1 : ($failed += 1; warn "FAILED: #{what}")
  holds
end

class Server
  attr_reader :uri, :pid, :dir

  def initialize(dir, *words, limit: nil, program: HONE)
    @dir = dir
    limits = limit ? { rlimit_fsize: limit } : {}
    out = IO.pipe
    @pid = Process.spawn(program, 'serve', '--port', '0', '--jobs', dir, *words, out: out[1], err: File.join(File.dirname(dir), 'serve.err'), **limits)
    out[1].close
    line = out[0].gets
    raise "hone serve does not begin: #{File.read(File.join(File.dirname(dir), 'serve.err'))}" unless line
    @uri = URI(line.strip)
  end

  def end_by(signal)
    Process.kill(signal, @pid)
    Process.wait2(@pid)[1]
  end

  def ask(method, path, body = nil, key: nil, type: 'application/json')
    fields = { 'Content-Type' => type }
    fields['Authorization'] = "Bearer #{key}" if key
    Net::HTTP.start(@uri.host, @uri.port, read_timeout: 60) do |http|
      request = Net::HTTPGenericRequest.new(method, !body.nil?, true, path, fields)
      request.body = body.is_a?(String) ? body : JSON.generate(body) if body
      http.request(request)
    end
  end

  def json(method, path, body = nil, key: nil) = JSON.parse(ask(method, path, body, key: key).body)

  # A file as a client sends it: parts in the order given.
  def upload(content, name: 'a.jsonl', key: nil, **more)
    parts = { purpose: 'fine-tune' }.merge(more).compact.map { |k, v| "--xYx\r\nContent-Disposition: form-data; name=\"#{k}\"\r\n\r\n#{v}\r\n" }
    parts << "--xYx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"#{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n#{content}\r\n" if name
    ask('POST', '/v1/files', "#{parts.join}--xYx--\r\n", key: key, type: 'multipart/form-data; boundary=xYx')
  end

  def file(content, **more)
    reply = upload(content, **more)
    check("a file is taken: #{reply.body}", reply.code == '200')
    JSON.parse(reply.body)['id']
  end

  # However long it takes, but not one that stands still for so many seconds.
  def wait(id, *states, key: nil, seconds: 90)
    job = before = nil
    still = 0
    while still < seconds * 20
      job = json('GET', "/v1/fine_tuning/jobs/#{id}", key: key)
      return job if states.include?(job['status'])
      still = job == before ? still + 1 : 0
      before = job
      sleep 0.05
    end
    check("#{id} comes to #{states}, and stands still for #{seconds} s: #{job}", false)
    job
  end
end

def with(dir, *words, **more)
  server = Server.new(dir, *words, **more)
  yield server
ensure
  status = server&.end_by('TERM')
  check('it ends well after SIGTERM', status&.exitstatus == 0) if server
end

def error_of(reply) = JSON.parse(reply.body)['error']

def chats(n, word = 'number') = (1..n).map { |i| JSON.generate(messages: [{ role: 'user', content: "what is #{i}?" }, { role: 'assistant', content: "it is #{word} #{i} of ten." }]) + "\n" }.join

def labelled(n) = (1..n).map { |i| JSON.generate(prompt: [{ role: 'user', content: "what is #{i}?" }], completion: [{ role: 'assistant', content: i.odd? ? "it is #{i}." : 'who knows?' }], label: i.odd?) + "\n" }.join

def pairs(n) = (1..n).map { |i| JSON.generate(input: { messages: [{ role: 'user', content: "what is #{i}?" }] }, preferred_output: [{ role: 'assistant', content: "it is #{i}." }], non_preferred_output: [{ role: 'assistant', content: 'who knows?' }]) + "\n" }.join

# What `hone train` makes of the same, without a server.
def trained(dir, data, *words)
  file = File.join(dir, 'alone.jsonl')
  out = File.join(dir, "alone#{rand(1 << 40)}")
  File.write(file, data)
  said, status = Open3.capture2e(HONE, 'train', 'hone:tiny', '--data', file, '--out', out, '--samples', '0', *words)
  check("hone train: #{said}", status.success?)
  said[/^sha256 (\h{64})$/, 1]
end

# ---- files ----

def check_files(dir)
  store = File.join(dir, 'files')
  with(store, '--files-max', '6', '--file-bytes', '20000') do |s|
    good = chats(5)
    reply = s.upload(good, name: 'my chats.jsonl')
    file = JSON.parse(reply.body)
    check("it is told: #{file}", file['object'] == 'file' && file['bytes'] == good.bytesize && file['filename'] == 'my chats.jsonl' &&
                                 file['purpose'] == 'fine-tune' && file['examples'] == 5 && file['kind'] == 'single' && file['format'] == 'messages')
    check('it is there', s.json('GET', "/v1/files/#{file['id']}") == file)
    check('with what it holds', s.ask('GET', "/v1/files/#{file['id']}/content").body == good)
    { "#{good}{\"messages\": [" => 'a.jsonl: line 6, column 15', "#{good}{\"messages\": [{\"role\": \"usr\", \"content\": \"a\"}]}\n" => 'a.jsonl: line 6',
      '{"text": 5}' => 'a.jsonl: line 1', '' => 'a.jsonl', good + pairs(1) => 'a.jsonl: line 6' }.each do |content, place|
      reply = s.upload(content)
      check("#{place}: #{reply.code} #{reply.body}", reply.code == '400' && error_of(reply)['message'].include?(place) &&
                                                    !reply.body.include?(store) && error_of(reply)['param'] == 'file')
    end
    [[{ purpose: 'batch' }, 'purpose', '400'], [{ purpose: nil }, 'purpose', '400'], [{ name: nil }, 'file', '400'], [{ model: 'none' }, 'model', '404'],
     [{ more: 'x' }, 'more', '400'], [{ 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '10' }, 'expires_after.seconds', '400'],
     [{ 'expires_after[anchor]': 'created_at' }, 'expires_after', '400']].each do |more, param, code|
      reply = s.upload(good, **more)
      check("#{more}: #{reply.code} #{reply.body}", reply.code == code && error_of(reply)['param'] == param)
    end
    reply = s.upload(good, name: 'x.parquet')
    check("a file is what its name says: #{reply.body}", reply.code == '400' && error_of(reply)['param'] == 'file' && error_of(reply)['message'].include?('x.parquet: Parquet cannot be read yet'))
    ["/v1/files/#{file['id']}", "/v1/files/#{file['id']}/content", '/v1/fine_tuning/jobs/ftjob-0'].each do |path|
      check("#{path} takes no query", s.ask('GET', "#{path}?limit=1").then { |r| r.code == '400' && error_of(r)['param'] == 'limit' })
    end
    check('nothing was kept of them', s.json('GET', '/v1/files')['data'].size == 1 && Dir.children(File.join(store, 'files')).size == 2)
    soon = s.file(good, name: '../../up.csv.jsonl', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600')
    told = s.json('GET', "/v1/files/#{soon}")
    check("a name is no path: #{told}", told['filename'] == 'up.csv.jsonl' && told['expires_at'] == told['created_at'] + 3600)
    s.file("messages\n\"[{\"\"role\"\":\"\"user\"\",\"\"content\"\":\"\"a\"\"},{\"\"role\"\":\"\"assistant\"\",\"\"content\"\":\"\"b\"\"}]\"\n", name: 'b.CSV')
    s.file("[#{good.lines.join(',')}]", name: 'c.json')
    check("pairs: #{s.json('GET', "/v1/files/#{s.file(pairs(2))}")}", s.json('GET', '/v1/files')['data'][0]['kind'] == 'pair')
    s.file(good)
    check("no more than may be: #{(reply = s.upload(good)).body}", reply.code == '403' && error_of(reply)['code'] == 'quota_exceeded')
    check("one that is too large: #{(reply = s.upload('x' * 30_000)).code}", reply.code == '413' && error_of(reply)['code'] == 'file_too_large')
    ids = s.json('GET', '/v1/files?order=asc')['data'].map { |f| f['id'] }
    check('all of them', ids.size == 6 && ids[0] == file['id'] && s.json('GET', '/v1/files')['data'].map { |f| f['id'] } == ids.reverse)
    page = s.json('GET', "/v1/files?order=asc&limit=2&after=#{ids[1]}")
    check("a page: #{page['last_id']}", page['data'].map { |f| f['id'] } == ids[2, 2] && page['has_more'] && page['first_id'] == ids[2] && page['last_id'] == ids[3])
    check('the last', !s.json('GET', "/v1/files?order=asc&limit=2&after=#{ids[3]}")['has_more'])
    check('none of a purpose', s.json('GET', '/v1/files?purpose=batch')['data'].empty?)
    ['limit=0', 'limit=x', 'order=up', 'after=file-1', 'more=1', 'limit=%zz', 'limit=1&limit=2'].each { |q| check(q, s.ask('GET', "/v1/files?#{q}").code == '400') }
    check('it is deleted', s.json('DELETE', "/v1/files/#{ids[1]}") == { 'id' => ids[1], 'object' => 'file', 'deleted' => true })
    check('and gone', s.ask('GET', "/v1/files/#{ids[1]}").code == '404' && s.ask('DELETE', "/v1/files/#{ids[1]}").code == '404' && s.json('GET', '/v1/files')['data'].size == 5)
    ['file-0', 'x', '%2e%2e%2fjobs', "#{ids[0]}/x", "#{ids[0]}/content/x", ids[0].upcase].each { |id| check(id, s.ask('GET', "/v1/files/#{id}").code.match?(/40[04]/)) }
    check('JSON is no form', s.ask('POST', '/v1/files', '{}').code == '415')
    check('nobody else reads them', Dir.glob(File.join(store, '{files,jobs}')).all? { |f| File.stat(f).mode & 0o77 == 0 } &&
                                    Dir.glob(File.join(store, 'files', '*')).all? { |f| File.stat(f).mode & 0o777 == 0o600 })
    _, status = Open3.capture2e(HONE, 'serve', '--port', '0', '--jobs', store)
    check('one server a folder', status.exitstatus == 1)
    $kept = s.json('GET', '/v1/files')
  end
  with(store) { |s| check('they are there again', s.json('GET', '/v1/files') == $kept) }
  content = Dir.glob(File.join(store, 'files', '*.array.json'))[0]
  File.truncate(content, 10)
  said, status = Open3.capture2e(HONE, 'serve', '--port', '0', '--jobs', store)
  check("a file that was cut is named: #{said}", status.exitstatus == 1 && said.include?(File.basename(content)))
end

# Where no more can be written: said, nothing half made, and everything else goes on.
def check_full(dir)
  store = File.join(dir, 'full')
  with(store, limit: 60_000) do |s|
    small = s.file(chats(3))
    reply = s.upload(chats(2000))
    check("a disk that is full: #{reply.code} #{reply.body}", reply.code == '500' && error_of(reply)['message'].include?('large') && !reply.body.include?(dir))
    check('nothing of it is left', Dir.children(File.join(store, 'files')).size == 2)
    job = s.json('POST', '/v1/fine_tuning/jobs', order(small, settings: ['steps=3']))
    done = s.wait(job['id'], 'succeeded', 'failed')
    check("a run that cannot save fails by name: #{done['error']}", done['status'] == 'failed' && done['error']['message'].include?('large') && !done['error']['message'].include?(dir))
    chat = s.json('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'a' }], max_tokens: 2 })
    check('chats go on', chat['usage']['completion_tokens'] == 2)
  end
end

# A disk that is full, in the middle of a job too: what cannot be written is refused or fails by name, what was told before is there,
# also to a server that was killed then, others are served, and with room again all goes on.
def check_no_space(dir) = with_small_disk(File.join(dir, 'disk'), '6m') { |disk| fill_disk(dir, disk) }

def chats_go_on(s) = check('chats go on', s.json('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'a' }], max_tokens: 2 })['usage']['completion_tokens'] == 2)

def no_space?(reply, store) = reply.code == '500' && error_of(reply)['message'].include?('No space left') && !reply.body.include?(store)

def fill_disk(dir, disk)
  store = File.join(disk, 'jobs')
  order_of = ->(file, steps) { order(file, settings: ["steps=#{steps}", 'rank=1', 'save-every=5']) }
  s = Server.new(store)
  good = s.file(chats(20))
  first = s.json('POST', '/v1/fine_tuning/jobs', order_of.(good, 10))['id']
  done = s.wait(first, 'succeeded', 'failed')
  check("with room: #{done['error']}", done['status'] == 'succeeded')
  fill(disk, 0)
  check("no room for a file: #{(reply = s.upload(chats(200))).body}", no_space?(reply, store))
  check("nor for a job: #{(reply = s.ask('POST', '/v1/fine_tuning/jobs', order_of.(good, 5))).body}", no_space?(reply, store))
  chats_go_on(s)
  fill(disk, 200_000) # enough to begin
  id = s.json('POST', '/v1/fine_tuning/jobs', order_of.(good, 400))['id']
  full = s.wait(id, 'succeeded', 'failed')
  check("a run fails by name: #{full['error']}", full['status'] == 'failed' && full.dig('error', 'message').include?('the disk has room for') && !full['error']['message'].include?(store))
  chats_go_on(s)
  clear(disk)
  id = s.json('POST', '/v1/fine_tuning/jobs', order_of.(good, 4000))['id']
  sleep 0.02 until s.json('GET', "/v1/fine_tuning/jobs/#{id}")['step'] > 6
  fill(disk, 0) # now not even its own words have room
  full = s.wait(id, 'succeeded', 'failed')
  check("and one in the middle: #{full['error']}", full['status'] == 'failed' && full.dig('error', 'message').match?(/No space left|the disk has room for/) && !full['error']['message'].include?(store))
  chats_go_on(s)
  fill(disk, 0)
  told = ->(of) { [of.json('GET', '/v1/files'), of.json('GET', '/v1/fine_tuning/jobs')['data'].map { |j| j['status'] == 'succeeded' ? j : j['id'] }] }
  before = told.(s)
  s.end_by('KILL')
  s = Server.new(store)
  40.times { told.(s) == before ? break : sleep(0.05) } # what was trained is served again
  check("all that was told is there: #{before} #{told.(s)}", told.(s) == before)
  check('what could not be written that it failed is found out again', %w[queued running failed].include?(s.json('GET', "/v1/fine_tuning/jobs/#{id}")['status']))
  chats_go_on(s)
  s.ask('POST', "/v1/fine_tuning/jobs/#{id}/cancel")
  clear(disk)
  s.ask('POST', "/v1/fine_tuning/jobs/#{id}/cancel") # one of the two could be written, or it had failed
  more = s.json('POST', '/v1/fine_tuning/jobs', order_of.(good, 10))['id']
  check('with room again', s.wait(more, 'succeeded', 'failed')['sha256'] == done['sha256'])
  check('it ends well', s.end_by('TERM').exitstatus.zero?)
end

# Where a proof has no room in the memory of a run, it is trained, and said: in the least that a job is taken for, which is more where devices
# have copies.
def check_unproved(dir)
  33.upto(60) do |room|
    taken = false
    with(File.join(dir, "narrow#{room}"), '--train-memory', "#{room}M") do |s|
      job = s.json('POST', '/v1/fine_tuning/jobs', order(s.file(chats(8)), settings: ['steps=2', 'rank=4']))
      unless (taken = !job['error'])
        check("refused for its memory: #{job}", job['error']['message'].include?(' GiB are needed'))
        next
      end
      done = s.wait(job['id'], 'succeeded', 'failed')
      names = done['result_files'].map { |f| s.json('GET', "/v1/files/#{f}")['filename'] }
      said = s.json('GET', "/v1/fine_tuning/jobs/#{job['id']}/events?limit=1000")['data'].map { |e| e['message'] }
      check("no certificate, by name: #{names} #{said}", done['status'] == 'succeeded' && !names.include?('certificate.json') && said.any? { |m| m.start_with?('it has no certificate: out of memory') })
    end
    return if taken
  end
  check('a job is taken for 60 MB', false)
end

# A proof that does not hold, after all was trained: the job has failed, by the check's name, and nothing of it is served or handed on, after a
# restart neither. What trains is the program's own file: here one stands in its place that trains, proves and then says what `hone train` says
# of a proof that fails, with its status.
def check_disproved(dir)
  store, program = File.join(dir, 'disproved'), File.join(dir, 'own')
  FileUtils.cp(HONE, program)
  server = Server.new(store, program: program)
  said = 'certificate.json: blk.0.attn_q.weight, gradient: error 0.5, bound 0.001 (row 3); 1 of 431 checks do not hold'
  File.write("#{program}.new", "#!/bin/sh\n'#{HONE}' \"$@\" || exit\necho 'hone train: #{said}' >&2\nexit 1\n", perm: 0o755)
  File.rename("#{program}.new", program)
  data = server.file(chats(8))
  job = server.json('POST', '/v1/fine_tuning/jobs', order(data, settings: ['steps=2', 'rank=4']))
  done = server.wait(job['id'], 'succeeded', 'failed')
  run = Dir.children(File.join(store, 'jobs', job['id'], 'run'))
  check("it was trained, and proved: #{run}", (%w[adapter.gguf certificate.json] - run).empty?)
  told = lambda do |s|
    now = s.json('GET', "/v1/fine_tuning/jobs/#{job['id']}")
    check("a proof that fails is a job that has: #{now}", now['status'] == 'failed' && now['error'] == { 'code' => 'training_failed', 'message' => said, 'param' => nil } &&
                                                          now['fine_tuned_model'].nil? && now['result_files'].empty?)
    check('nothing of it is served', s.json('GET', '/v1/models')['data'].map { |m| m['id'] } == ['hone-tiny'] && s.json('GET', '/v1/files')['data'].map { |f| f['id'] } == [data])
    check('nor listed as a checkpoint', s.json('GET', "/v1/fine_tuning/jobs/#{job['id']}/checkpoints")['data'].empty?)
    chats_go_on(s)
  end
  told.(server)
  check('it ends well', server.end_by('TERM').exitstatus.zero?)
  with(store) do |s|
    told.(s)
    again = s.json('POST', '/v1/fine_tuning/jobs', order(data, settings: ['steps=2', 'rank=4']))
    check('a proof that holds serves it', s.wait(again['id'], 'succeeded', 'failed')['fine_tuned_model'])
  end
end

# A server that is killed while files come: what was acknowledged is there, and nothing else.
def check_killed_uploads(dir)
  store = File.join(dir, 'killed')
  KILLS.times do |round|
    s = Server.new(store)
    known = s.json('GET', '/v1/files')['data'].map { |f| f['id'] }
    told = known.dup
    killer = Thread.new { sleep rand * 0.3; Process.kill('KILL', s.pid) }
    begin
      loop { told << JSON.parse(s.upload(chats(3)).body)['id'] }
    rescue StandardError
      nil
    end
    killer.join
    Process.wait s.pid
    with(store) do |again|
      found = again.json('GET', '/v1/files?order=asc')['data'].map { |f| f['id'] }
      check("round #{round}: all that were told are there", (told - found).empty? && (found - told).size <= 1)
      check('and whole', found.all? { |id| again.ask('GET', "/v1/files/#{id}/content").body == chats(3) })
      check('and nothing beside them', Dir.children(File.join(store, 'files')).size == 2 * found.size)
      (found - found.last(8)).each { |id| again.ask('DELETE', "/v1/files/#{id}") } # so that there is room for those of all rounds
    end
  end
end

SETTINGS = ['steps=120', 'rank=4', 'save-every=10'].freeze
WORDS = %w[--seed 1 --batch 2 --steps 120 --rank 4 --save-every 10].freeze

def order(file, **more) = { model: 'hone-tiny', training_file: file, settings: SETTINGS, hyperparameters: { batch_size: 2 } }.merge(more)

# ---- jobs ----

def check_jobs(dir)
  with(File.join(dir, 'jobs')) do |s|
    good = s.file(chats(40))
    held = s.file(chats(6, 'item'))
    two = s.file(pairs(8))
    [[{ model: 'none' }, 'model', '404'], [{ model: nil }, 'model', '400'], [{ training_file: nil }, 'training_file', '400'],
     [{ training_file: 'file-0' }, 'training_file', '400'], [{ validation_file: 'file-0' }, 'validation_file', '400'],
     [{ hyperparameters: { batch_size: 'many' } }, 'hyperparameters.batch_size', '400'], [{ hyperparameters: { beta: 0.1 } }, 'hyperparameters.beta', '400'],
     [{ hyperparameters: { rank: 1 } }, 'hyperparameters.rank', '400'], [{ hyperparameters: nil, method: { type: 'reinforcement' } }, 'method.type', '400'],
     [{ hyperparameters: nil, method: { type: 'dpo', supervised: {} } }, 'method', '400'], [{ hyperparameters: nil, method: { type: 'sft' } }, 'method.type', '400'],
     [{ hyperparameters: nil, method: { type: 'orpo', dpo: {} } }, 'method', '400'], [{ hyperparameters: nil, method: { type: 'orpo', orpo: { hyperparameters: { kl_weight: 1 } } } }, 'method.orpo.hyperparameters.kl_weight', '400'],
     [{ hyperparameters: { kl_weight: 1 } }, 'hyperparameters.kl_weight', '400'], [{ seed: 2_147_483_648 }, 'seed', '400'], [{ hyperparameters: { learning_rate_multiplier: 0 } }, 'hyperparameters.learning_rate_multiplier', '400'],
     [{ settings: ["rank=8\0more"] }, 'settings', '400'], [{ model: '' }, 'model', '400'], [{ hyperparameters: nil, training_file: two, method: { type: 'kto' }, settings: [] }, nil, '400'],
     [{ hyperparameters: nil, method: { type: 'kl', kl: { hyperparameters: { kl_weight: -1 } } } }, 'method.kl.hyperparameters.kl_weight', '400'], [{ method: { type: 'supervised' } }, 'hyperparameters', '400'],
     [{ integrations: [{ type: 'wandb' }] }, 'integrations', '400'], [{ suffix: 'a:b' }, 'suffix', '400'], [{ suffix: '' }, 'suffix', '400'],
     [{ metadata: { a: 1 } }, 'metadata', '400'], [{ settings: ['rank'] }, 'settings', '400'], [{ settings: ['held=/etc/passwd'] }, 'settings', '400'],
     [{ settings: ['keep=17'] }, 'settings', '400'], [{ settings: ['keep-adapters'] }, 'settings', '400'], [{ settings: ['samples-along'] }, 'settings', '400'],
     [{ settings: ['template=/etc/passwd'] }, 'settings', '400'], [{ settings: ['threads=9'] }, 'settings', '400'], [{ settings: ['none=1'] }, 'settings', '400'], [{ settings: ['eval-every=5'] }, 'settings', '400'],
     [{ settings: ['rate=0.001'], hyperparameters: { learning_rate_multiplier: 2 } }, 'settings', '400'], [{ settings: ['rank=8', 'rank=9'] }, 'settings', '400'],
     [{ hyperparameters: nil, training_file: two, method: { type: 'dpo', dpo: { hyperparameters: { beta: 0.2 } } }, settings: ['beta=0.3'] }, 'settings', '400'],
     [{ settings: ['rank=0'] }, nil, '400'], [{ settings: ['targets=all:full'] }, nil, '400'], [{ training_file: two, settings: [] }, nil, '400'],
     [{ hyperparameters: nil, method: { type: 'dpo' }, settings: [] }, nil, '400'], [{ settings: ['max-length=3'] }, nil, '400']].each do |more, param, code|
      reply = s.ask('POST', '/v1/fine_tuning/jobs', order(good, **more).compact)
      check("#{more}: #{reply.code} #{reply.body}", reply.code == code && error_of(reply)['param'] == param && !reply.body.include?(dir))
    end
    dry = s.json('POST', '/v1/fine_tuning/jobs', order(good, dry_run: true))
    check("what it would take: #{dry}", dry['status'] == 'validating_files' && dry['steps'] == 120 && dry['examples'] == 40 && dry['memory_bytes'] > 0)
    shown = s.json('GET', "/v1/files/#{good}/tokens?first=4&limit=2")
    tokens = shown['data'].flat_map { |e| e['sequences'].map { |q| q.select { |t| t['weight'] > 0 }.map { |t| t['text'] }.join } }
    check("what is supervised: #{tokens}", shown['data'].map { |e| e['line'] } == [5, 6] && shown['has_more'] && tokens[0].include?('it is number 5 of ten.') && !tokens[0].include?('what'))
    check('of pairs two', s.json('GET', "/v1/files/#{two}/tokens?limit=1")['data'][0]['sequences'].size == 2)
    check('past the last', s.json('GET', "/v1/files/#{two}/tokens?first=8") == { 'object' => 'list', 'data' => [], 'has_more' => false })
    check('no such model', s.ask('GET', "/v1/files/#{two}/tokens?model=none").code == '404' && s.ask('GET', "/v1/files/#{two}/tokens?limit=21").code == '400')
    check('none of them is kept', s.json('GET', '/v1/fine_tuning/jobs')['data'].empty? && Dir.children(File.join(dir, 'jobs/jobs')).empty?)
    job = s.json('POST', '/v1/fine_tuning/jobs', order(good, validation_file: held, suffix: 'mine', metadata: { team: 'a' }))
    id = job['id']
    check("it is told: #{job}", job['object'] == 'fine_tuning.job' && job['status'] == 'queued' && job['steps'] == 120 && job['hyperparameters'] == { 'n_epochs' => 1, 'batch_size' => 2 } &&
                               job['metadata'] == { 'team' => 'a' } && job['training_file'] == good && job['fine_tuned_model'].nil? && job['memory_bytes'] > 0)
    check("a file that it needs stays: #{(reply = s.ask('DELETE', "/v1/files/#{good}")).body}", reply.code == '409' && error_of(reply)['message'].include?(id))
    check('so does what it is judged by', s.ask('DELETE', "/v1/files/#{held}").code == '409')
    s.wait(id, 'running')
    chat = { messages: [{ role: 'user', content: 'Tell me a story' }], max_tokens: 8, seed: 5 }
    said = s.json('POST', '/v1/chat/completions', chat)
    check('a chat meanwhile', said['usage']['completion_tokens'] == 8)
    done = s.wait(id, 'succeeded', 'failed')
    name = "hone-tiny:mine-#{id[6, 8]}"
    File.write(File.join(dir, 'held.jsonl'), chats(6, 'item'))
    alone = trained(dir, chats(40), *WORDS, '--held', File.join(dir, 'held.jsonl'))
    check("the hash of hone train: #{done}", done['status'] == 'succeeded' && done['sha256'] == alone)
    check('what came of it', done['fine_tuned_model'] == name && done['finished_at'] >= done['created_at'] && done['trained_tokens'] > 0 && done['verdict'].include?('held-out') &&
                             done['held_after']['loss'] < done['held_before']['loss'] && done['step'] == 120)
    check('it is served', s.json('GET', '/v1/models')['data'].any? { |m| m['id'] == name })
    tuned = s.json('POST', '/v1/chat/completions', chat.merge(model: name, recipe: true))
    check("and answers as itself: #{tuned}", tuned.dig('recipe', 'adapter') == alone && tuned['choices'][0]['message'] != said['choices'][0]['message'])
    events = s.json('GET', "/v1/fine_tuning/jobs/#{id}/events?limit=1000")['data']
    check('events', events.count { |e| e['type'] == 'metrics' && e['data']['loss'] } == 120 && events.first['message'].include?(name) && events.map { |e| e['id'] }.uniq.size == events.size)
    answered = events.filter_map { |e| e['data'] if e.dig('data', 'samples') }.reverse
    prompts = answered.map { |l| l['samples'].map { |q| q['prompt'] } }
    check("what it answers meanwhile: #{answered.map { |l| l['step'] }}", answered.map { |l| l['step'] } == [0, *(10..120).step(10)] && prompts.uniq.size == 1 && prompts[0].size == 3 && prompts[0][0].include?('what is 1?') &&
                                                                        answered[0]['samples'] != answered[-1]['samples'] && answered.all? { |l| l['samples'].all? { |q| q['expected'].start_with?('it is item') } })
    paged = []
    paged += s.json('GET', "/v1/fine_tuning/jobs/#{id}/events?limit=50#{"&after=#{paged.last['id']}" if paged.any?}")['data'] while paged.size < events.size
    check('in pages', paged == events)
    points = s.json('GET', "/v1/fine_tuning/jobs/#{id}/checkpoints")['data']
    check("checkpoints: #{points}", points.map { |p| p['fine_tuned_model_checkpoint'] } == [name, "#{name}-at-110"] && points.map { |p| p['step_number'] } == [120, 110] &&
                                    points[0]['metrics']['full_valid_loss'] == done['held_after']['loss'] && points[1]['metrics'].keys == %w[step train_loss] && points.uniq { |p| p['id'] }.size == 2)
    check('in pages', s.json('GET', "/v1/fine_tuning/jobs/#{id}/checkpoints?limit=1").then { |l| l['data'] == points[0, 1] && l['has_more'] } &&
                      s.json('GET', "/v1/fine_tuning/jobs/#{id}/checkpoints?after=#{points[0]['id']}").then { |l| l['data'] == points[1, 1] && !l['has_more'] } &&
                      s.ask('GET', "/v1/fine_tuning/jobs/#{id}/checkpoints?after=ftckpt-0").code == '400')
    check_point(dir, s, done, points[1])
    check_results(dir, s, done)
    files = done['result_files'].map { |f| s.json('GET', "/v1/files/#{f}") }
    check("results: #{files}", files.map { |f| f['filename'] } == %w[adapter.gguf metrics.jsonl report.html certificate.json step-00000110.gguf] && files.all? { |f| f['purpose'] == 'fine-tune-results' })
    check('the adapter itself', Digest::SHA256.hexdigest(s.ask('GET', "/v1/files/#{files[0]['id']}/content").body) == alone)
    check('they are the job\'s', s.ask('DELETE', "/v1/files/#{files[0]['id']}").code == '409' && s.ask('POST', '/v1/fine_tuning/jobs', order(files[1]['id'])).code == '400')
    check('its files may go', s.ask('DELETE', "/v1/files/#{held}").code == '200')
    preferred = s.json('POST', '/v1/fine_tuning/jobs', order(two, hyperparameters: nil, method: { type: 'dpo', dpo: { hyperparameters: { batch_size: 2, beta: 0.2, n_epochs: 2 } } }, settings: ['rank=4']).compact)
    dpo = s.wait(preferred['id'], 'succeeded', 'failed')
    check("dpo: #{dpo}", dpo['sha256'] == trained(dir, pairs(8), *%w[--seed 1 --epochs 2 --batch 2 --goal dpo --beta 0.2 --rank 4]))
    check('all of them', s.json('GET', '/v1/fine_tuning/jobs')['data'].map { |j| j['id'] } == [dpo['id'], id])
    check_losses(dir)
    check('a page', s.json('GET', '/v1/fine_tuning/jobs?limit=1').then { |l| l['has_more'] && l['data'][0]['id'] == dpo['id'] } &&
                    s.json('GET', "/v1/fine_tuning/jobs?after=#{dpo['id']}")['data'].map { |j| j['id'] } == [id])
    check('by metadata', s.json('GET', '/v1/fine_tuning/jobs?metadata[team]=a')['data'].size == 1 && s.json('GET', '/v1/fine_tuning/jobs?metadata%5Bteam%5D=b')['data'].empty? &&
                         s.json('GET', '/v1/fine_tuning/jobs?metadata=null')['data'].map { |j| j['id'] } == [dpo['id']] &&
                         s.ask('GET', '/v1/fine_tuning/jobs?metadata=team').code == '400')
    check('what is over stays so', %w[cancel pause resume].all? { |w| s.ask('POST', "/v1/fine_tuning/jobs/#{id}/#{w}").code == '409' })
    check('no such thing', s.ask('POST', "/v1/fine_tuning/jobs/#{id}/stop").code == '404' && s.ask('GET', '/v1/fine_tuning/jobs/ftjob-0').code == '404' && s.ask('GET', "/v1/fine_tuning/jobs/#{id}/run").code == '404')
    $served = name
    $alone = alone
  end
  with(File.join(dir, 'jobs'), '--alias', 'small=hone-tiny') do |s|
    40.times { s.json('GET', '/v1/models')['data'].any? { |m| m['id'] == $served } ? break : sleep(0.05) }
    tuned = s.json('POST', '/v1/chat/completions', { model: $served, messages: [{ role: 'user', content: 'a' }], max_tokens: 2, recipe: true })
    check("it is served again: #{tuned}", tuned.dig('recipe', 'adapter') == $alone)
    point = "#{$served}-at-110"
    40.times { s.json('GET', '/v1/models')['data'].any? { |m| m['id'] == point } ? break : sleep(0.05) }
    check('a checkpoint too', s.ask('POST', '/v1/completions', { model: point, prompt: 'a', max_tokens: 2 }).code == '200')
    job = s.json('GET', '/v1/fine_tuning/jobs?metadata[team]=a')['data'][0]
    other = s.file(chats(4), model: 'small')
    check('by another name of the model', s.json('POST', '/v1/fine_tuning/jobs', order(other, model: 'small', dry_run: true))['model'] == 'hone-tiny' &&
                                          s.ask('GET', "/v1/files/#{other}/tokens?model=small").code == '200' && s.ask('POST', '/v1/fine_tuning/jobs', order(other, model: 'small:mine')).code == '404')
    check('and is deleted alone', s.json('DELETE', "/v1/models/#{point.sub('hone-tiny:', 'small:')}")['deleted'] && s.ask('POST', '/v1/completions', { model: point, prompt: 'a' }).code == '404' &&
                                  s.json('GET', "/v1/fine_tuning/jobs/#{job['id']}/checkpoints")['data'].size == 1 && s.ask('DELETE', "/v1/models/#{point}").code == '404' &&
                                  s.json('GET', "/v1/fine_tuning/jobs/#{job['id']}")['result_files'].size == job['result_files'].size - 1 && !File.exist?(File.join(s.dir, 'jobs', job['id'], 'run/step-00000110.gguf')))
    check('a model of nobody is not deleted', s.ask('DELETE', '/v1/models/hone-tiny').code == '404')
    check('what was trained is', s.json('DELETE', "/v1/models/#{$served}") == { 'id' => $served, 'object' => 'model', 'deleted' => true })
    check('and found no more', s.ask('DELETE', "/v1/models/#{$served}").code == '404' && s.json('GET', '/v1/models')['data'].none? { |m| m['id'] == $served })
    job = s.json('GET', '/v1/fine_tuning/jobs?metadata[team]=a')['data'][0]
    check("its job stays, without files: #{job}", job['status'] == 'succeeded' && job['fine_tuned_model'].nil? && job['result_files'].empty? && job['sha256'] == $alone)
    client(dir, s)
  end
  with(File.join(dir, 'jobs')) do |s|
    40.times { s.json('GET', '/v1/models')['data'].size > 1 ? break : sleep(0.05) }
    check('nor after a restart', s.json('GET', '/v1/models')['data'].none? { |m| m['id'] == $served })
  end
end

# All that is left of a job, by the command line: its certificate is of this model, data and rank, and holds.
def check_results(dir, s, job)
  out = File.join(dir, 'results')
  fetch = ->(*words) { Open3.capture2e(HONE, 'jobs', 'fetch', *words, '--server', "#{s.uri.host}:#{s.uri.port}") }
  said, status = fetch.(job['id'], '--out', out)
  check("hone jobs fetch: #{said}", status.success? && said.lines.size == job['result_files'].size && Dir.children(out).sort == %w[adapter.gguf certificate.json metrics.jsonl report.html step-00000110.gguf])
  check('each as it is', job['result_files'].all? { |f| File.binread(File.join(out, s.json('GET', "/v1/files/#{f}")['filename'])) == s.ask('GET', "/v1/files/#{f}/content").body.b } &&
                         Digest::SHA256.file(File.join(out, 'adapter.gguf')).hexdigest == job['sha256'])
  proof = JSON.parse(File.read(File.join(out, 'certificate.json')))
  ranks = proof['rows'].select { |r| r['check'] == 'along' && r['subject'].include?('lora') }
  check("a certificate that holds: #{proof['subject']}", proof['checks'] > 100 && proof['failed'].zero? && proof['skipped'].zero? && proof['seed'] == job['seed'] && ranks.any? &&
                                                       proof['subject'].include?(Digest::SHA256.hexdigest(chats(40))[0, 16]))
  check('of no folder of the server\'s', %w[certificate.json report.html metrics.jsonl].none? { |f| File.read(File.join(out, f)).include?(s.dir) })
  held = File.readlines(File.join(out, 'metrics.jsonl')).map { |l| JSON.parse(l) }.select { |l| l['held_loss'] }
  check('judged before and after', held.map { |l| l['step'] } == [0, 120] && held.map { |l| l['held_loss'] } == [job['held_before']['loss'], job['held_after']['loss']])
  check("and told: #{said = Open3.capture2e(HONE, 'jobs', 'show', job['id'], '--server', "#{s.uri.host}:#{s.uri.port}")[0]}", said.match?(/^held_before: loss [\d.]+, accuracy [\d.]+ %$/) && said.include?('held_after: loss '))
  said, status = fetch.(job['id'], '--out', out)
  check("nothing is written over: #{said}", status.exitstatus != 0 && said.include?('adapter.gguf'))
  check('unless it may be', fetch.(job['id'], '--out', out, '--overwrite')[1].success?)
  [['ftjob-0', '--out', out], [job['id']], ['../x', '--out', out]].each { |words| check("fetch #{words}", fetch.(*words)[1].exitstatus != 0) }
end

# A checkpoint is a model like another: what it answers is what `hone run` does with its file.
def check_point(dir, s, job, point)
  name = point['fine_tuned_model_checkpoint']
  file = job['result_files'].find { |f| s.json('GET', "/v1/files/#{f}")['filename'] == 'step-00000110.gguf' }
  path = File.join(dir, 'point.gguf')
  File.binwrite(path, s.ask('GET', "/v1/files/#{file}/content").body)
  check('it is listed', s.json('GET', '/v1/models')['data'].any? { |m| m['id'] == name } && s.json('GET', "/v1/models/#{name}")['id'] == name)
  { job['fine_tuned_model'] => [120, job['sha256']], name => [110, Digest::SHA256.file(path).hexdigest] }.each do |model, (steps, sha)|
    found = s.json('GET', "/v1/models/#{model}")['contract']
    check("its contract: #{found}", found.values_at('sha256', 'steps', 'rank', 'scale', 'is_tried', 'kl') == [sha, steps, 4, 1.0, true, 0.0] && found.values_at('base', 'data', 'tokenizer').all?(/\A\h{64}\z/) &&
                                   found.values_at('note', 'overridden').none? && found['last_loss'] > 0 && found['numerics'] == 'f32')
  end
  ask = ->(model) { s.json('POST', '/v1/completions', { model: model, prompt: 'what is 3?', max_tokens: 24, temperature: 0, recipe: true }) }
  run = ->(*words) { Open3.capture2(HONE, 'run', 'hone:tiny', *words, '-p', 'what is 3?', '-n', '24', '--temperature', '0', err: File::NULL)[0].chomp }
  said = ask.(name)
  check("its recipe names it: #{said['recipe']}", said.dig('recipe', 'adapter') == Digest::SHA256.file(path).hexdigest)
  alone = run.('--lora', path)
  check("and its text is that of hone run: #{said['choices']} #{alone.inspect}", alone.end_with?(said['choices'][0]['text'].chomp) && said['choices'][0]['text'].size > 9)
  check('not the base\'s', !run.().end_with?(said['choices'][0]['text'].chomp))
end

# Every other loss, by its name, on a file that says that it takes it: what `hone train` makes of it.
def check_losses(dir)
  methods = ->(s, file) { s.json('GET', "/v1/files/#{file}")['methods'] }
  with(File.join(dir, 'losses')) do |s|
    of = { 'kl' => [chats(8), { kl_weight: 0.3 }, %w[--kl-weight 0.3]], 'orpo' => [pairs(8), { beta: 0.4 }, %w[--beta 0.4]],
           'kto' => [labelled(8), { beta: 'auto', desirable_weight: 2, undesirable_weight: 0.5 }, %w[--desirable-weight 2 --undesirable-weight 0.5]] }
    of.each do |name, (data, read, words)|
      file = s.file(data)
      check("#{name}: #{methods.(s, file)}", methods.(s, file).include?(name))
      asked = order(file, hyperparameters: nil, method: { type: name, name => { hyperparameters: { batch_size: 4 }.merge(read) } }, settings: ['rank=2', 'steps=3']).compact
      job = s.json('POST', '/v1/fine_tuning/jobs', asked)
      check("#{name}: #{job}", job['method'] == JSON.parse(JSON.generate(asked[:method])) && job['settings'].include?("goal=#{name}"))
      done = s.wait(job['id'], 'succeeded', 'failed')
      check("#{name}: #{done}", done['sha256'] == trained(dir, data, *%w[--seed 1 --batch 4 --rank 2 --steps 3], '--goal', name, *words))
    end
    check('the usual one first', [chats(2), pairs(2), labelled(2)].map { |data| methods.(s, s.file(data))[0] } == %w[supervised dpo kto])
  end
end

# hone jobs: the same from the command line.
def client(dir, s)
  data = File.join(dir, 'the "data".jsonl')
  File.write(data, chats(6))
  bad = File.join(dir, 'bad.jsonl')
  File.write(bad, chats(2) + "{\n")
  jobs = ->(*words) { Open3.capture2e(HONE, 'jobs', *words, '--server', "#{s.uri.host}:#{s.uri.port}").then { |said, status| [said, status.exitstatus] } }
  # What a request has fields for is told there.
  [[%w[rate=0.00123456789012 epochs=2 batch=3 seed=9], [], 'seed=9 epochs=2 batch=3 rate=0.00123456789012 steps=1'], [%w[rate=0.0001], %w[--method kl], 'seed=1 epochs=1 batch=8 goal=kl rate=0.0001 steps=1']].each do |settings, more, told|
    said, status = jobs.('create', 'hone-tiny', data, *more, *(settings + %w[steps=1]).flat_map { |word| ['--setting', word] })
    check("#{settings}: #{said}", status == 0 && said.include?("settings: #{told}\n"))
    jobs.('cancel', said[/ftjob-\h+/])
  end
  { %w[rate=x] => 'rate', %w[rate=1 rate=2] => 'rate: found twice', %w[epochs=1.5] => 'n_epochs', %w[rank=1 rank=2] => 'rank: found twice' }.each do |settings, why|
    said, status = jobs.('create', 'hone-tiny', data, *settings.flat_map { |word| ['--setting', word] })
    check("#{settings}: #{said}", status != 0 && said.include?(why))
  end
  said, status = jobs.('create', 'hone-tiny', data, '--validation', data, '--suffix', 'cli', '--setting', 'steps=2', '--setting', 'rank=2')
  id = said[/^ftjob-\h+/]
  check("hone jobs create: #{said}", status == 0 && id && said.include?('settings: seed=1 epochs=1 batch=8 steps=2 rank=2'))
  s.wait(id, 'succeeded', 'failed')
  check("show: #{said = jobs.('show', id)[0]}", said.include?('succeeded') && said.match?(/^sha256: \h{64}$/) && said.include?("hone-tiny:cli-#{id[6, 8]}"))
  check("list: #{said = jobs.('list', '--limit', '1')[0]}", said.lines.size == 1 && said.start_with?(id))
  check("events: #{said = jobs.('events', id)[0]}", said.include?('it waits for its turn') && said.include?('step 2/2'))
  check('in JSON', JSON.parse(jobs.('show', id, '--json')[0])['id'] == id)
  check("what is over: #{said = jobs.('pause', id)}", said[1] == 2 && said[0].include?('is succeeded: it cannot be paused'))
  check("a mistake: #{said = jobs.('create', 'hone-tiny', bad)}", said[1] == 2 && said[0].include?('bad.jsonl: line 3, column 2'))
  [['start'], ['list', 'x'], ['show'], ['show', '../x'], ['create', 'hone-tiny'], ['list', '--suffix', 'x'], ['list', '--server', 'https://127.0.0.1:1'],
   ['list', '--server', 'example.com:80'], ['list', '--server', '127.0.0.1'], ['list', '--server', '127.0.0.1:1'], ['list', '--key-file', data]].each do |words|
    said, status = Open3.capture2e(HONE, 'jobs', *words)
    check("hone jobs #{words}: #{said}", status.exitstatus != 0 && said.start_with?('hone jobs: '))
  end
end

# Paused, taken up, cancelled; and the process that trains killed by itself.
# It changes no bit; who leaves a level out of the server means its training too.
def check_isa(dir)
  with(File.join(dir, 'isa'), '--isa', 'ref') do |s|
    id = s.json('POST', '/v1/fine_tuning/jobs', order(s.file(chats(40))))['id']
    s.wait(id, 'running')
    sleep 0.05 until trainers(s).any?
    words = `ps -ww -o args= -p #{trainers(s)[0]}`.split
    check("as the server is told: #{words}", words.each_cons(2).include?(%w[--isa ref]) && words.each_cons(2).none? { |a, _| a == '--device' })
    check('cancelled', s.json('POST', "/v1/fine_tuning/jobs/#{id}/cancel")['status'] == 'cancelled')
  end
end

def check_changes(dir)
  want = trained(dir, chats(40), *WORDS)
  with(File.join(dir, 'changes')) do |s|
    good = s.file(chats(40))
    id = s.json('POST', '/v1/fine_tuning/jobs', order(good))['id']
    later = s.json('POST', '/v1/fine_tuning/jobs', order(good))['id']
    s.wait(id, 'running')
    sleep 0.05 until s.json('GET', "/v1/fine_tuning/jobs/#{id}")['step'] > 5
    check('one at a time', s.json('GET', "/v1/fine_tuning/jobs/#{later}")['status'] == 'queued')
    check('paused while it waits', s.json('POST', "/v1/fine_tuning/jobs/#{later}/pause")['status'] == 'paused')
    check('paused', s.json('POST', "/v1/fine_tuning/jobs/#{id}/pause")['status'] == 'paused')
    1200.times { trainers(s).any? ? sleep(0.05) : break } # it saves first
    step = s.json('GET', "/v1/fine_tuning/jobs/#{id}")['step']
    sleep 0.4
    check("it stands: #{step}", step < 120 && s.json('GET', "/v1/fine_tuning/jobs/#{id}")['step'] == step && trainers(s).empty?)
    check('it goes on', s.json('POST', "/v1/fine_tuning/jobs/#{id}/resume")['status'] == 'queued')
    s.wait(id, 'running')
    sleep 0.05 until trainers(s).any?
    Process.kill('KILL', trainers(s)[0])
    chat = s.json('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'a' }], max_tokens: 2 })
    check('a chat does not notice', chat['usage']['completion_tokens'] == 2)
    done = s.wait(id, 'succeeded', 'failed')
    check("the same hash: #{done['sha256']} #{done['error']}", done['sha256'] == want)
    events = s.json('GET', "/v1/fine_tuning/jobs/#{id}/events?limit=1000")['data']
    check('it is told', events.any? { |e| e['level'] == 'warn' && e['message'].include?('ended by signal 9') })
    s.json('POST', "/v1/fine_tuning/jobs/#{later}/resume")
    s.wait(later, 'running')
    sleep 0.05 until trainers(s).any?
    check('cancelled', s.json('POST', "/v1/fine_tuning/jobs/#{later}/cancel")['status'] == 'cancelled' && trainers(s).empty?)
    check('nothing of it is left', !File.exist?(File.join(s.dir, 'jobs', later, 'run')))
    check('its file may go', s.ask('DELETE', "/v1/files/#{good}").code == '200')
  end
end

# Who trains for a server.
# A process that has ended stays for a while as one that nobody has asked about.
def runs?(pid) = (File.read("/proc/#{pid}/stat").split(') ')[1][0] != 'Z' rescue false)
def trainers(s) = `ps -o pid= --ppid #{s.pid}`.split.map(&:to_i).select { |p| runs?(p) }

# A server that is killed in the middle: whoever trained for it is gone too, and the next goes on to the same bits.
def check_killed(dir)
  want = trained(dir, chats(40), *WORDS)
  store = File.join(dir, 'kills')
  s = Server.new(store)
  id = s.json('POST', '/v1/fine_tuning/jobs', order(s.file(chats(40))))['id']
  KILLS.times do |round|
    sleep rand
    mine = trainers(s)
    Process.kill('KILL', s.pid)
    Process.wait s.pid
    3000.times { mine.any? { |p| runs?(p) } ? sleep(0.02) : break } # a minute, on a machine that others use
    check("round #{round}: nobody trains for nobody", mine.none? { |p| runs?(p) })
    s = Server.new(store)
    job = s.json('GET', "/v1/fine_tuning/jobs/#{id}")
    check("the job is there: #{job}", job['id'] == id && job['status'] != 'failed')
    next unless job['status'] == 'succeeded' # and another one is killed
    check("round #{round}: the same hash", job['sha256'] == want)
    id = s.json('POST', '/v1/fine_tuning/jobs', order(job['training_file']))['id']
  end
  done = s.wait(id, 'succeeded', 'failed')
  check("killed #{KILLS} times, the same hash: #{done['sha256']} #{done['error']}", done['sha256'] == want)
  check('it ends well', s.end_by('TERM').exitstatus == 0)
end

# ---- keys ----

def check_keys(dir)
  keys = File.join(dir, 'keys')
  File.write(keys, "alice alice-secret-0123456789\nbob bob-secret-0123456789\n", perm: 0o600)
  alice, bob = 'alice-secret-0123456789', 'bob-secret-0123456789'
  with(File.join(dir, 'keyed'), '--api-keys', keys, '--files-max', '1', '--jobs-max', '1') do |s|
    file = s.file(chats(8), key: alice)
    job = s.json('POST', '/v1/fine_tuning/jobs', order(file, settings: ['steps=2', 'rank=2']), key: alice)
    check('nobody without a key', s.ask('GET', '/v1/files').code == '401' && s.upload(chats(2)).code == '401')
    check('another\'s are not there', s.json('GET', '/v1/files', key: bob)['data'].empty? && s.json('GET', '/v1/fine_tuning/jobs', key: bob)['data'].empty?)
    ["/v1/files/#{file}", "/v1/files/#{file}/content", "/v1/fine_tuning/jobs/#{job['id']}", "/v1/fine_tuning/jobs/#{job['id']}/events"].each do |path|
      check("#{path} of another: 404", s.ask('GET', path, key: bob).code == '404')
    end
    check('not to be deleted, cancelled or trained of', s.ask('DELETE', "/v1/files/#{file}", key: bob).code == '404' &&
          s.ask('POST', "/v1/fine_tuning/jobs/#{job['id']}/cancel", key: bob).code == '404' && s.ask('POST', '/v1/fine_tuning/jobs', order(file), key: bob).code == '400')
    check('a cursor of another\'s tells nothing', s.ask('GET', "/v1/files?after=#{file}", key: bob).code == '400')
    check('each has a quota', s.upload(chats(2), key: bob).code == '200' && s.upload(chats(2), key: bob).code == '403' &&
                              s.ask('POST', '/v1/fine_tuning/jobs', order(file), key: alice).code == '403')
    secret = File.join(dir, 'secret')
    File.write(secret, "#{bob}\n", perm: 0o600)
    said, status = Open3.capture2e(HONE, 'jobs', 'show', job['id'], '--server', "#{s.uri.host}:#{s.uri.port}", '--key-file', secret)
    check("nor by hone jobs: #{said}", status.exitstatus == 2 && said.include?('there is no such job'))
    File.write(secret, "#{alice}\n")
    check('which shows one\'s own', Open3.capture2e(HONE, 'jobs', 'show', job['id'], '--server', "#{s.uri.host}:#{s.uri.port}", '--key-file', secret)[0].start_with?(job['id']))
    done = s.wait(job['id'], 'succeeded', 'failed', key: alice)
    name = done['fine_tuned_model']
    chat = { model: name, messages: [{ role: 'user', content: 'a' }], max_tokens: 2 }
    check("it is served to its owner: #{done}", s.ask('POST', '/v1/chat/completions', chat, key: alice).code == '200')
    check('and to nobody else', s.ask('POST', '/v1/chat/completions', chat, key: bob).code == '404' && s.ask('GET', "/v1/models/#{name}", key: bob).code == '404' &&
                                s.json('GET', "/v1/models/#{name}", key: alice)['contract']['sha256'] == done['sha256'] && s.json('GET', '/v1/models', key: bob)['data'].none? { |m| m['id'] == name })
  end
end

Dir.mktmpdir do |dir|
  steps = { files: :check_files, full: :check_full, no_space: :check_no_space, unproved: :check_unproved, disproved: :check_disproved, uploads: :check_killed_uploads, jobs: :check_jobs, isa: :check_isa, changes: :check_changes, kills: :check_killed, keys: :check_keys }
  only = ENV['HN_JOB_STEPS']&.split(',')&.map(&:to_sym)
  steps.each { |name, step| send(step, dir) if !only || only.include?(name) }
end
puts "#{$passed} passed, #{$failed} failed"
exit($failed.zero? ? 0 : 1)
