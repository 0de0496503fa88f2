# check.rb BUILD SOURCE [CLIENT ...]: see check.sh. One server for all clients, with a model whose calls are tokens of their own, one that
# embeds, and the one that is built in, which trains; one that asks for a key; and one with a long context for an agent.
require 'open3'
clients = ARGV.slice!(2..)
require File.join(ARGV[1], 'tests/harness/serve')

CLIENTS = { 'openai' => 'openai_client.py', 'node' => 'openai_client.mjs', 'anthropic' => 'anthropic_client.py', 'ollama' => 'ollama_client.py',
            'langchain' => 'langchain_client.py', 'litellm' => 'litellm_client.py',
            'qwen' => 'agent.mjs', 'codex' => 'agent.mjs' }.freeze
KEPT = ENV.fetch('HN_CLIENTS')
SECRET = 'a-secret-of-32-characters-000000'

def run(file, url, other)
  by = file.end_with?('.py') ? File.join(KEPT, 'venv/bin/python') : 'node'
  # Nothing of the caller's own leads a client elsewhere.
  clean = ENV.keys.grep(/OPENAI|ANTHROPIC|OLLAMA|LITELLM|_PROXY|_proxy/).to_h { |k| [k, nil] }
  told, status = Open3.capture2e(clean.merge('HN_MODULES' => KEPT, 'HN_SECRET' => SECRET, 'LITELLM_LOCAL_MODEL_COST_MAP' => 'True', 'NO_PROXY' => '*'),
                                 by, File.join(SOURCE, 'tools/clients', file), url, other)
  puts told
  check("#{file}: exit #{status.exitstatus}", status.success?)
end

(clients - CLIENTS.keys).each { |c| abort "#{c}: expected #{CLIENTS.keys.join(', ')}" }
Dir.mktmpdir do |dir|
  File.write(File.join(dir, 'keys'), "someone #{SECRET}\n", perm: 0o600)
  words = ["m=#{marked_model(dir, 'qwen3')}", 'hone:tiny', "e=#{File.join(MODELS, 'bert')}", '--jobs', File.join(dir, 'jobs')]
  serve(*words) do |uri, _|
    serve('--api-keys', File.join(dir, 'keys')) do |locked, _|
      CLIENTS.each { |name, file| run(file, uri.to_s, locked.to_s) if file != 'agent.mjs' && (clients.empty? || clients.include?(name)) }
    end
  end
  agents = %w[qwen codex].select { |name| clients.empty? || clients.include?(name) }
  next if agents.empty?

  agent = File.join(dir, 'agent.gguf')
  system(HONE, 'new', 'qwen3', agent, 'layers=1', 'width=32', 'heads=2', 'head_dim=16', 'context=32768', '--tokenizer', 'hone:tiny', out: File::NULL)
  serve("agent=#{agent}", '--template', File.join(SOURCE, 'tests/differential/templates/real/qwen3.jinja'), '--context', '32768') do |uri, _|
    agents.each { |name| run('agent.mjs', uri.to_s, name) }
  end
end
close_checks
