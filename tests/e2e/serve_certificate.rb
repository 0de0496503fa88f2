# serve_certificate.rb BUILD SOURCE: see serve_certificate.sh.
require File.join(ARGV[1], 'tests/harness/serve')
require 'digest'

# A run with its certificate, in a folder of its own.
def train(dir, name, rank)
  data, out = File.join(dir, 'private-data.jsonl'), File.join(dir, name)
  File.write(data, (1..4).map { |i| JSON.generate(prompt: "a #{i}", completion: "b #{i}") }.join("\n"))
  said, status = Open3.capture2e(HONE, 'train', 'hone:tiny', '--data', data, '--out', out, '--steps', '2', '--rank', rank.to_s, '--samples', '0', '--prove', '--keep-adapters', '--save-every', '1')
  check("#{name} is trained: #{said}", status.success?)
  out
end

# The run's adapter in another folder, beside what is given as a certificate; nil: beside none.
def beside(dir, name, run, certificate)
  folder = File.join(dir, name)
  Dir.mkdir(folder)
  FileUtils.cp(File.join(run, 'adapter.gguf'), folder)
  File.write(File.join(folder, 'certificate.json'), certificate) if certificate
  ['--lora', "#{name}=#{File.join(folder, 'adapter.gguf')}"]
end

def contract_of(uri, name) = JSON.parse(ask(uri, 'GET', "/v1/models/hone-tiny:#{name}").body)['contract']

def check_shown(contract, proof)
  told = contract['certificate']
  made = proof['rows'].group_by { |r| r['check'] }.map { |check, rows| { 'check' => check, 'made' => rows.sum { |r| r['made'] }, 'failed' => 0 } }
  check("what it says: #{told}", told && told['rows'] == made && told.slice('build', 'cpu', 'seed', 'checks', 'failed', 'skipped') == proof.slice('build', 'cpu', 'seed', 'checks', 'failed', 'skipped') &&
                                 made.sum { |r| r['made'] } == told['checks'] && contract['certificate_refused'].nil?)
end

def check_refused(uri, name, why)
  contract = contract_of(uri, name)
  check("#{name}: #{contract}", contract['certificate'].nil? && contract['certificate_refused'] == "certificate.json beside it #{why}")
end

Dir.mktmpdir do |dir|
  run, other = train(dir, 'private-run', 2), train(dir, 'other', 4)
  text = File.read(File.join(run, 'certificate.json'))
  proof = JSON.parse(text)
  digest = ->(folder) { Digest::SHA256.file(File.join(folder, 'adapter.gguf')).hexdigest }
  check('it is of its file', proof['result'] == digest.(run) && digest.(run) != digest.(other))
  moved = beside(dir, 'moved', run, text)
  cases = { alone: nil, swapped: File.read(File.join(other, 'certificate.json')), untied: JSON.generate(proof.except('result')), odd: JSON.generate(proof.merge('result' => 7)),
            cut: text[0, text.size / 2], list: '[1]', kind: JSON.generate(proof.merge('certificate' => 'mine')), hollow: JSON.generate(proof.except('checks')),
            below: JSON.generate(proof.merge('rows' => [proof['rows'][0].merge('made' => -1)])), many: JSON.generate(proof.merge('rows' => (1..40).map { |i| proof['rows'][0].merge('check' => "c#{i}") })),
            most: JSON.generate(proof.merge('rows' => [proof['rows'][0].merge('made' => 2**63 - 1)] * 2)) }
  words = cases.flat_map { |name, certificate| beside(dir, name.to_s, run, certificate) }
  folder = beside(dir, 'folder', run, nil)
  Dir.mkdir(File.join(dir, 'folder', 'certificate.json'))
  step = Dir[File.join(run, 'step-*.gguf')].reject { |f| Digest::SHA256.file(f).hexdigest == digest.(run) }.first
  serve('hone:tiny', '--lora', "run=#{File.join(run, 'adapter.gguf')}", '--lora', "step=#{step}", *moved, *words, *folder) do |uri, _|
    %w[run moved].each { |name| check_shown(contract_of(uri, name), proof) }
    check("none: #{contract_of(uri, 'alone')}", contract_of(uri, 'alone').fetch_values('certificate', 'certificate_refused').none?)
    check_refused(uri, 'swapped', "is of another file: sha256 #{digest.(other)}")
    check_refused(uri, 'step', "is of another file: sha256 #{digest.(run)}")
    %w[untied odd].each { |name| check_refused(uri, name, 'does not say of which file it is') }
    check_refused(uri, 'cut', 'is no JSON')
    check_refused(uri, 'folder', 'cannot be read')
    %w[list kind].each { |name| check_refused(uri, name, 'is no certificate') }
    %w[hollow below many most].each { |name| check_refused(uri, name, 'lacks what a certificate has') }
    all = %w[run moved swapped step cut folder].map { |name| ask(uri, 'GET', "/v1/models/hone-tiny:#{name}").body }.join
    check('nothing of it names a file of this machine', !all.include?('private') && !all.include?(dir))
    check('an adapter is served whatever lies beside it', ask(uri, 'POST', '/v1/chat/completions', { model: 'hone-tiny:swapped', max_tokens: 2, messages: [{ role: 'user', content: 'a' }] }).code == '200')
  end
end
close_checks
