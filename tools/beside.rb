#!/usr/bin/env ruby
# frozen_string_literal: true

# hone beside programs that have llama-bench's options, on the same files: each reads a prompt and generates, in turn, every
# round beginning with another one. Prints a table of medians in tokens/s, and hone's share of the best of the others.
#
#   tools/beside.rb [--hone PROGRAM] [--numerics MODE] [--threads N] [--prompt N] [--generate N] [--rounds N]
#                   --peer 'NAME=PROGRAM OPTIONS' ... FILE.gguf ...
#
# A peer may be given more than once with other options; the best counts. Read speed is `hone bench kernels --only gemv`'s of
# the same minutes. Nothing else should run: what both processors share tells nothing.
require 'json'
require 'open3'
require 'shellwords'
require 'tempfile'

BEGINNING = 8 # tokens before those that are generated
options = { hone: 'build/hone', numerics: 'int8', threads: 2, prompt: 512, generate: 48, rounds: 3 }
peers = []
files = []
until ARGV.empty?
  case (word = ARGV.shift)
  when '--peer'
    name, command = ARGV.shift.to_s.split('=', 2)
    abort "--peer #{name}: 'NAME=PROGRAM OPTIONS' is expected" unless command
    peers << [name, command.shellsplit]
  when /\A--(hone|numerics)\z/ then options[$1.to_sym] = ARGV.shift or abort "#{word}: nothing follows"
  when /\A--(threads|prompt|generate|rounds)\z/ then options[$1.to_sym] = Integer(ARGV.shift)
  when /\A--/ then abort "#{word}: there is no such option"
  else files << word
  end
end
abort 'no --peer, or no file' if peers.empty? || files.empty?

def output_of(*command)
  text, errors, status = Open3.capture3(*command)
  abort "#{command.join(' ')}: #{status}\n#{errors.lines.last(5).join}" unless status.success?
  text
end

def median(values) = values.sort[values.size / 2]

# [prompt's tokens/s, generated ones']. Those follow a beginning of almost nothing, as llama-bench's do.
def hone(options, file)
  Tempfile.create('beside') do |json|
    output_of(options[:hone], 'bench', file, '--prompt', "#{BEGINNING},#{options[:prompt]}", '--generate', options[:generate].to_s, '--repeat', '1',
              '--threads', options[:threads].to_s, '--numerics', options[:numerics], '--json', json.path, '--overwrite')
    generated, prompt = JSON.parse(File.read(json.path))
    [prompt.fetch('prompt_tokens_per_second'), generated.fetch('generate_tokens_per_second')]
  end
end

def peer(command, options, file)
  text = output_of(*command, '-m', file, '-t', options[:threads].to_s, '-p', options[:prompt].to_s,
                   '-n', options[:generate].to_s, '-r', '1', '-o', 'json')
  lines = JSON.parse(text.lines.grep(/\A[\s\[\]{}]/).join) # it may warn in the middle
  prompt = lines.find { |line| line['n_gen'].zero? } or abort "#{command.first}: no line of a prompt"
  generated = lines.find { |line| line['n_gen'].positive? } or abort "#{command.first}: no line of generation"
  [prompt.fetch('avg_ts'), generated.fetch('avg_ts')]
end

def processor
  File.foreach('/proc/cpuinfo').grep(/model name/).first.to_s.split(':').last.to_s.strip
rescue Errno::ENOENT
  RUBY_PLATFORM
end

def read_speed(options)
  text = output_of(options[:hone], 'bench', 'kernels', '--only', 'gemv', '--quick', '--threads', options[:threads].to_s)
  text[/threads #{options[:threads]}:.*?read ([\d.]+) GB/, 1] or abort 'hone bench kernels tells no read speed'
end

puts "#{processor}; #{options[:threads]} threads, prompt #{options[:prompt]}, generated #{options[:generate]}; " \
     "medians of #{options[:rounds]} rounds, tokens/s; hone in #{options[:numerics]}; reading #{read_speed(options)} GB/s at first"
names = ['hone', *peers.map(&:first)]
puts "| file | MB | #{names.map { |name| "#{name}: prompt, generated" }.join(' | ')} | hone / best: prompt, generated | read |"
puts "|#{'---|' * (names.size + 4)}"
files.each do |file|
  runs = [-> { hone(options, file) }, *peers.map { |_, command| -> { peer(command, options, file) } }]
  took = Array.new(runs.size) { [] }
  options[:rounds].times { |round| runs.each_index.to_a.rotate(round).each { |at| took[at] << runs[at].call } }
  medians = took.map { |rounds| [median(rounds.map(&:first)), median(rounds.map(&:last))] }
  best = [0, 1].map { |what| medians.drop(1).map { |one| one[what] }.max }
  shares = [0, 1].map { |what| format('%.2f', medians[0][what] / best[what]) }
  megabytes = File.size(file) / 1e6
  puts "| #{File.basename(file, '.gguf')} | #{megabytes.round} | #{medians.map { |one| format('%.0f, %.1f', *one) }.join(' | ')} | " \
       "#{shares.join(', ')} | #{format('%.1f', medians[0][1] * megabytes / 1e3)} GB/s |"
  $stdout.flush
end
