# chat_terminal.rb HONE MODEL: hone chat on a pseudo-terminal: editing, Ctrl-C, thoughts, and the
# terminal's state at the end. Prints how many checks passed; fails at the first that does not.
require "pty"
require "timeout"
require "io/console"
require "json"

HONE, MODEL = ARGV
trap(:INT, "DEFAULT") # what a shell runs in the background ignores it, and so would what is run here
LONGEST = 500 # seconds: what hangs ends, what is slow does not
PROMPT = /> \e\[K\r\e\[2C\z/
$passed = 0

def check(what, holds, found = nil)
  abort "FAILED: #{what}: #{found.inspect}" unless holds
  $passed += 1
end

# A session; the block talks to it through `say` and `wait`.
class Talk
  def initialize(*options)
    @master, slave = PTY.open
    @master.winsize = [24, 80]
    @before = `stty -g < #{slave.path}`
    @slave = slave
    @pid = spawn({ "TERM" => "xterm" }, HONE, "chat", MODEL, *options, in: slave, out: slave, err: slave,
                 pgroup: true)
    @seen = "".b
    wait(PROMPT)
  end

  def seen
    @seen.dup.force_encoding("UTF-8").scrub
  end

  def say(text)
    @seen = "".b
    @master.write(text)
  end

  def interrupt
    Process.kill(:INT, @pid)
  end

  def wait(pattern)
    Timeout.timeout(LONGEST) do
      @seen << @master.readpartial(4096).b until seen =~ pattern
    end
    seen
  rescue Timeout::Error
    abort "FAILED: waiting for #{pattern.inspect}, found #{@seen.inspect}"
  end

  def ended?
    Timeout.timeout(LONGEST) { Process.wait(@pid) }
    check("the status", $?.success?, [$?, @seen + @master.read_nonblock(4096, exception: false).to_s])
    check("the terminal's state", `stty -g < #{@slave.path}` == @before)
  end
end

def saved(talk)
  talk.say("/save t.json\r")
  talk.wait(PROMPT)
  JSON.parse(File.read("t.json")).map { |m| m["content"] }
end

A = %w[--overwrite --logit-bias 97=1000 --count 3].freeze
talk = Talk.new(*A)
talk.say("ello!\x01h\x05\x7f\r")
check("an answer", talk.wait(PROMPT).include?("aaa"))
talk.say("\e[A \xE6\xBC\xA2\xE5\xAD\x97\e[D\x7f\r") # the line before, two wide characters, one deleted
talk.wait(PROMPT)
check("editing", saved(talk) == ["hello", "aaa", "hello \u5b57", "aaa"], saved(talk))
talk.say("lost\x03")
talk.wait(PROMPT)
talk.say("\x15")
talk.wait(PROMPT) # of the line that is empty
talk.say("/reset\r")
talk.wait(PROMPT)
talk.say("one\\\r")
talk.wait(/\. \e\[K\r\e\[2C\z/)
talk.say("two\r")
talk.wait(PROMPT)
check("two lines", saved(talk) == ["one\ntwo", "aaa"], saved(talk))
talk.say("/reset\r")
talk.wait(PROMPT)
talk.say("\e[200~one\rtwo\r/three\e[201~")
talk.say("!\r")
talk.wait(PROMPT)
check("what is pasted is one message", saved(talk) == ["one\ntwo\n/three!", "aaa"], saved(talk))
talk.say("/nonsense\r")
check("a mistake", talk.wait(PROMPT).include?("no such command"))
talk.say("\x03")
check("the first Ctrl-C", talk.wait(PROMPT).include?("Ctrl-C again leaves"))
talk.say("\x03")
talk.ended?

# An answer that would go on for long: Ctrl-C ends it, what was said is kept, and again.
talk = Talk.new("--overwrite", "--logit-bias", "97=1000", "--context", "100000", "--threads", "1")
2.times do
  talk.say("on\r")
  talk.wait(/aaa/)
  talk.interrupt
  check("an answer is stopped", talk.wait(PROMPT).include?("(stopped"))
end
texts = saved(talk)
check("what was said is kept", texts.length == 4 && texts[1] =~ /\Aa+\z/, texts.map(&:length))
talk.say("\x04")
talk.ended?

# Thoughts are dimmed, and the letters are plain again afterwards.
talk = Talk.new(*A, "--template", "think.jinja")
talk.say("x\r")
check("a thought is dim", talk.wait(PROMPT).include?("\e[2maaa\e[0m"))
talk.say("/quit\r")
talk.ended?

# Control characters of a model are shown, not obeyed: 27 is the escape in GPT-2's alphabet.
talk = Talk.new("--logit-bias", "27=1000", "--count", "2", "--template", "plain.jinja")
talk.say("x\r")
check("an escape is shown", talk.wait(PROMPT).include?("\u241b\u241b"))
talk.say("\x04")
talk.ended?
puts $passed
