# What is used after its `free`, by every method there is; what is freed before what was made on it, or under a call of
# another thread. Each is refused by name, and the process lives.
#     HONE_LIBRARY=build/libhone.so ruby tests/e2e/ruby_lifetimes.rb SOURCE
require File.join(ARGV[0], "bindings/ruby/hone")

$passed = 0
def check(what, ok)
  abort "FAILED #{what}" unless ok
  $passed += 1
end

def refused(what, error, words)
  yield
  check "#{what}: it was taken", false
rescue Hone::Error => e
  check "#{what}: #{e.class} #{e.message}", e.instance_of?(error) && e.message.include?(words)
end

def made
  engine = Hone::Engine.new(threads: 1)
  g = Hone::Builder.new(engine)
  x = g.weight("x", [1, 4])
  y = g.op("rms_norm", x, eps: 1e-4)
  loss = g.op("sum", g.op("reshape", y, shape: 4))
  [engine, g, x, y, loss, Hone::Exec.new(g, [y])]
end

engine, g, x, y, loss, exec = made
trainer = Hone::Trainer.new(g, loss, [x])
calls = {
  engine => { cancel: [], resume: [], fail_allocation: [1], cancel_at: [1], live_bytes: [] },
  g => { leaf: ["input", "a", [1]], weight: ["b", [1]], input: ["c", [1]], op: ["silu", x], output: [y, 0], check: [], gradients: [loss, [x]] },
  x => { count: [] },
  exec => { write: [x, [1.0] * 4], run: [] },
  trainer => { write: [x, [1.0] * 4], step: [0.1] },
}
# Children first in none of these: all of it stays until the last is gone, and nothing is taken.
[engine, g, exec, trainer].each { |o| 2.times { o.free } }
calls.each do |object, methods|
  own = object.class.public_instance_methods(false) - %i[handle address within]
  check "#{object.class}: #{own - methods.keys} are not tried", (own - methods.keys).empty?
  methods.each { |name, given| refused("#{object.class}##{name}", Hone::Freed, "was freed") { object.public_send(name, *given) } }
end
refused("a builder on it", Hone::Freed, "Engine: it was freed") { Hone::Builder.new(engine) }
refused("a run of it", Hone::Freed, "Builder: it was freed") { Hone::Exec.new(g, []) }
refused("a trainer of it", Hone::Freed, "Builder: it was freed") { Hone::Trainer.new(g, loss, [x]) }

# What goes first is freed last: a run goes on without its builder and its engine.
engine, g, x, y, _, exec = made
engine.free
g.free
exec.write(x, [1.0, 0, 0, 0])
check "a run without its builder", exec.run[0][1..] == [0, 0, 0]
refused("a node's shape", Hone::Freed, "Builder: it was freed") { y.count }
exec.free
refused("a run", Hone::Freed, "Exec: it was freed") { exec.run }

# Of another builder, a copy, and one that was never made.
engine, g, x, y, _, exec = made
other = Hone::Builder.new(engine)
refused("a node of another", Hone::Error, "another builder") { other.op("silu", x) }
refused("its output", Hone::Error, "another builder") { other.output(y, 0) }
refused("its gradient", Hone::Error, "another builder") { other.gradients(x, [x]) }
refused("its leaf", Hone::Error, "another builder") { exec.write(other.weight("x", [1, 4]), [0.0] * 4) }
refused("a run of another's", Hone::Error, "another builder") { Hone::Exec.new(other, [y]) }
refused("a copy", Hone::Error, "freed twice") { g.dup }
refused("a clone", Hone::Error, "freed twice") { exec.clone }
refused("one that was not made", Hone::Freed, "never made") { Hone::Builder.allocate.check }
Hone::Builder.allocate.free
check "it holds nothing", engine.live_bytes.positive?

# Freed while another thread computes with it: it ends what it does, and is refused what it begins then. Two threads
# take turns at best.
exec.write(x, [1.0, 0, 0, 0])
n_refused = n_busy = 0
threads = Array.new(2) do
  Thread.new do
    loop { exec.run }
  rescue Hone::Busy
    n_busy += 1
    retry
  rescue Hone::Freed
    n_refused += 1
  end
end
sleep 0.2
exec.free
threads.each(&:join)
check "both threads were refused: #{n_refused}, #{n_busy} times busy", n_refused == 2
other.free
left = engine.live_bytes
g.free
check "the builder went with what it held: #{engine.live_bytes} of #{left}", engine.live_bytes < left
engine.free
puts "#{$passed} passed, 0 failed, 0 skipped"
