# A toy transformer block in Ruby: the gradients of rms_norm and softmax in isolation, under every
# plan; then the block is trained; then the library survives what it must refuse.
#     HONE_LIBRARY=build/libhone.so ruby bindings/ruby/block.rb
require_relative "hone"

$passed = 0
def check(what, ok)
  abort "FAILED #{what}" unless ok
  $passed += 1
end

def close?(a, b, bound = 1e-6) = a.zip(b).all? { |x, y| (x - y).abs <= bound * (y.abs + 1e-3) }

PLANS = %w[separate reuse inplace poison]
engine = Hone::Engine.new(threads: 2)

# d sum(b * f(a)) / da
def slope(engine, plan, a, b, name, **attributes)
  g = Hone::Builder.new(engine)
  x = g.weight("a", [1, a.size])
  w = g.input("b", [1, b.size])
  y = g.op(name, x, **attributes)
  loss = g.op("sum", g.op("reshape", g.op("mul", y, w), shape: a.size))
  exec = Hone::Exec.new(g, [y, *g.gradients(loss, [x])], plan: plan)
  exec.write(x, a)
  exec.write(w, b)
  result = exec.run
  exec.free
  g.free
  result
end

PLANS.each do |plan|
  one = [1.0, 0, 0, 0]
  _, dx = slope(engine, plan, one, one, "rms_norm", eps: 1e-4)
  check "rms_norm backward, #{plan}: #{dx}", dx[0].between?(0.000799, 0.0008) && dx[1..] == [0, 0, 0]
  a, b = [0.5, -1.0, 2.0, 0.1], [1.0, 0.5, -0.25, 2.0]
  y, dx = slope(engine, plan, a, b, "softmax")
  e = a.map { |v| Math.exp(v) }
  p = e.map { |v| v / e.sum }
  dot = p.zip(b).sum { |u, v| u * v }
  check "softmax, #{plan}", close?(y, p)
  check "softmax backward, #{plan}", close?(dx, p.zip(b).map { |u, v| u * (v - dot) }, 1e-5)
end

# The block: norm, attention, residual, norm, gated feed-forward, residual; learns to copy a target.
T, C, H = 6, 8, 2
g = Hone::Builder.new(engine)
random = Random.new(1)
weights = {}
matrix = lambda do |name, n, k|
  node = g.weight(name, [n, k])
  weights[node] = Array.new(n * k) { (random.rand - 0.5) * 2 / Math.sqrt(k) }
  node
end
x = g.input("x", [T, C])
target = g.input("target", [T, C])
heads = ->(node) { g.op("reshape", node, shape: "-1,#{H},#{C / H}") }
h = g.op("rms_norm", x)
q, k, v = %w[q k v].map { |n| heads.(g.op("linear", h, matrix.(n, C, C))) }
y = g.op("reshape", g.op("attention", q, k, v), shape: "-1,#{C}")
y = g.op("add", x, g.op("linear", y, matrix.("o", C, C)))
h = g.op("rms_norm", y)
gate, up = %w[gate up].map { |n| g.op("linear", h, matrix.(n, 16, C)) }
y = g.op("add", y, g.op("linear", g.op("swiglu", gate, up), matrix.("down", C, 16)))
count = g.leaf("step", "count", [])
loss = g.op("mse", y, target, nil, count)
trainer = Hone::Trainer.new(g, loss, weights.keys)
weights.each { |node, values| trainer.write(node, values) }
trainer.write(x, Array.new(T * C) { random.rand - 0.5 })
trainer.write(target, Array.new(T * C) { random.rand - 0.5 })
trainer.write(count, [T.to_f])
losses = Array.new(150) { trainer.step(0.02) }
check "the block learns: #{losses.first} -> #{losses.last}", losses.last < losses.first / 20
trainer.free
g.free

# What must be refused leaves the process alive and says why.
g = Hone::Builder.new(engine)
g.op("rms_norm", g.weight("w", [2, 3]), g.weight("gain", [5]))
begin
  g.check
  check "a wrong shape is refused", false
rescue Hone::Error => e
  check "a wrong shape is refused by name", e.message.include?("gain")
end
g.free
begin
  Hone::Engine.new(threads: -3)
  check "-3 threads are refused", false
rescue Hone::Error => e
  check "-3 threads are refused", e.message.include?("-3")
end
engine.free
puts "#{$passed} passed, 0 failed, 0 skipped"
