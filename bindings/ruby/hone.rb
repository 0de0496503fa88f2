# hone through Ruby's own foreign-function library: no compiled glue.
#
#     engine = Hone::Engine.new
#     g = Hone::Builder.new(engine)
#     x = g.weight("x", [1, 4])
#     y = g.op("rms_norm", x, eps: 1e-4)
require "fiddle"
require "fiddle/import"

module Hone
  module C
    extend Fiddle::Importer
    dlload ENV.fetch("HONE_LIBRARY", "libhone.so")
    extern "const char *hn_error_message(void)"
    extern "int hn_engine_new(void *, void *)"
    extern "void hn_engine_free(void *)"
    extern "void hn_engine_cancel(void *)"
    extern "void hn_engine_resume(void *)"
    extern "void hn_engine_memory(void *, void *, void *, void *)"
    extern "void hn_engine_fail_allocation(void *, long long)"
    extern "long long hn_engine_cancel_at(void *, long long)"
    extern "int hn_builder_new(void *, void *)"
    extern "void hn_builder_free(void *)"
    extern "int hn_builder_status(void *)"
    extern "int hn_builder_extent(void *, const char *, long long)"
    extern "void *hn_builder_leaf(void *, const char *, const char *, const char *, int, void *)"
    extern "void *hn_builder_constant(void *, const char *, int, void *, void *)"
    extern "void *hn_builder_op(void *, const char *, const char *, int, void *)"
    extern "void *hn_builder_output(void *, int)"
    extern "int hn_builder_gradients(void *, void *, int, void *, int, void *)"
    extern "int hn_node_shape(void *, void *, size_t)"
    extern "int hn_exec_new(void *, void *, int, void *, const char *)"
    extern "void hn_exec_free(void *)"
    extern "int hn_exec_write(void *, void *, void *, size_t)"
    extern "int hn_exec_run(void *)"
    extern "int hn_exec_read(void *, int, void *, size_t)"
    extern "int hn_trainer_new(void *, void *, void *, int, void *, void *)"
    extern "void hn_trainer_free(void *)"
    extern "int hn_trainer_write(void *, void *, void *, size_t)"
    extern "int hn_trainer_begin(void *)"
    extern "int hn_trainer_micro(void *)"
    extern "int hn_trainer_finish(void *, float, void *, void *)"
  end
  private_constant :C

  class Error < StandardError; end
  class Freed < Error; end # what is used was freed, or never made
  class Busy < Error; end  # another thread uses it at this moment

  # The only way into the library. What is given of its objects is held for the call: none that was freed gets there,
  # and none is freed under it.
  def self.call(name, *given)
    held = []
    given.filter_map { |v| v.handle if v.respond_to?(:handle) }.uniq.each { |h| held << h.enter }
    C.public_send(name, *given.map { |v| v.respond_to?(:handle) ? v.address : v })
  ensure
    held.reverse_each(&:leave)
  end

  def self.check(status)
    raise Error, C.hn_error_message.to_s unless status.zero?
  end

  # An object of the library's. It is freed once, when no call uses it and all that was made on it is freed, whatever
  # was asked to go first; from then on that it was asked to go, nothing takes it.
  class Handle
    LOCK = Mutex.new
    private_constant :LOCK

    # Its own to the thread that calls with it, unless several may share it.
    def self.is_shared = false

    def handle = self
    def address = @pointer

    def free
      LOCK.synchronize do
        return if @is_closed || !@pointer
        @is_closed = true
      end
      let_go
    end

    # Of a call; `leave` ends it.
    def enter
      hold(self.class.is_shared ? nil : true)
    end

    def leave
      LOCK.synchronize { @is_used = false }
      let_go
    end

    # Of what is made on it, and lives longer than a call.
    def hold(is_call = nil)
      LOCK.synchronize do
        raise Freed, "#{self.class.name}: it was freed" if @is_closed
        raise Freed, "#{self.class.name}: it was never made" unless @pointer
        raise Busy, "#{self.class.name}: another thread uses it" if is_call && @is_used
        @is_used = true if is_call
        @n_holders += 1
      end
      self
    end

    def let_go
      last = LOCK.synchronize { (@n_holders -= 1).zero? }
      return unless last
      C.public_send(@release, @pointer)
      @parent&.let_go
    end

    def initialize_copy(_) = raise(Error, "#{self.class.name}: a copy would be freed twice")

    private

    # `yield(out)` makes it, and stores its pointer there.
    def make(release, parent = nil)
      parent&.hold
      out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
      out[0, Fiddle::SIZEOF_VOIDP] = [0].pack("J")
      Hone.check(yield(out))
      @release, @parent, @n_holders, @pointer = release, parent, 1, out.ptr
    ensure
      parent.let_go if parent && !@pointer && out
    end
  end

  class Engine < Handle
    def self.is_shared = true

    # Fields of hn_engine_options: devices, isa, memory_limit, n_threads.
    def initialize(devices: nil, isa: nil, memory_limit: 0, threads: 0)
      @texts = [devices, isa].map { |t| t && Fiddle::Pointer[t] }
      fields = [*@texts.map { |t| t ? t.to_i : 0 }, memory_limit].pack("JJJ") +
               [threads, 0].pack("ll") + [0, 0, 0].pack("JJJ")
      options = [Fiddle::SIZEOF_VOIDP + fields.bytesize].pack("J") + fields # sizes come first
      make(:hn_engine_free) { |out| Hone.call(:hn_engine_new, out, Fiddle::Pointer[options]) }
    end

    def cancel = Hone.call(:hn_engine_cancel, self)
    def resume = Hone.call(:hn_engine_resume, self)
    def fail_allocation(nth) = Hone.call(:hn_engine_fail_allocation, self, nth)
    def cancel_at(nth) = Hone.call(:hn_engine_cancel_at, self, nth)

    def live_bytes
      bytes = [0].pack("q")
      Hone.call(:hn_engine_memory, self, Fiddle::Pointer[bytes], nil, nil)
      bytes.unpack1("q")
    end
  end

  # A value of a builder's graph.
  class Node
    attr_reader :handle # the builder
    attr_reader :address

    def initialize(builder, pointer)
      @handle, @address = builder, pointer
    end

    # Its address for what is `builder`, or is made of it and holds it.
    def within(builder)
      raise Error, "a node of another builder" unless builder.equal?(@handle)
      @address.to_i
    end

    def count
      shape = "\0" * 48
      Hone.check(Hone.call(:hn_node_shape, self, Fiddle::Pointer[shape], shape.bytesize))
      rank, = shape.unpack("l")
      shape[8, 8 * rank].unpack("q*").inject(1, :*)
    end

    def self.pack(nodes, builder) = nodes.map { |n| n ? n.within(builder) : 0 }.pack("J*")
  end

  class Builder < Handle
    def initialize(engine)
      make(:hn_builder_free, engine) { |out| Hone.call(:hn_builder_new, out, engine) }
    end

    def leaf(kind, name, shape, type = "f32")
      node(:hn_builder_leaf, kind, name, type, shape.size, shape.pack("q*"))
    end

    def weight(name, shape, type = "f32") = leaf("weight", name, shape, type)
    def input(name, shape, type = "f32") = leaf("input", name, shape, type)

    def op(name, *inputs, **attributes)
      text = attributes.map { |k, v| "#{k}=#{v}" }.join(" ")
      node(:hn_builder_op, name, text, inputs.size, Node.pack(inputs, self))
    end

    def output(node, index)
      node.within(self)
      Node.new(self, Hone.call(:hn_builder_output, node, index))
    end

    def check = Hone.check(Hone.call(:hn_builder_status, self))

    def gradients(loss, params, recompute_every: 0)
      out = Node.pack([nil] * params.size, self)
      Hone.check(Hone.call(:hn_builder_gradients, self, loss.within(self), params.size, Node.pack(params, self),
                           recompute_every, Fiddle::Pointer[out]))
      out.unpack("J*").map { |p| Node.new(self, Fiddle::Pointer.new(p)) }
    end

    private

    def node(name, *given) = Node.new(self, Hone.call(name, self, *given))
  end

  class Exec < Handle
    def initialize(builder, wanted, plan: nil)
      @builder = builder
      @counts = wanted.map(&:count)
      make(:hn_exec_free, builder) do |out|
        Hone.call(:hn_exec_new, out, builder, wanted.size, Node.pack(wanted, builder), plan)
      end
    end

    def write(leaf, floats, format = "f*")
      data = floats.pack(format)
      Hone.check(Hone.call(:hn_exec_write, self, leaf.within(@builder), data, data.bytesize))
    end

    # All wanted values as arrays of floats.
    def run
      Hone.check(Hone.call(:hn_exec_run, self))
      @counts.each_with_index.map do |n, i|
        data = "\0" * (4 * n)
        Hone.check(Hone.call(:hn_exec_read, self, i, Fiddle::Pointer[data], data.bytesize))
        data.unpack("f*")
      end
    end
  end

  class Trainer < Handle
    def initialize(builder, loss, params)
      @builder = builder
      make(:hn_trainer_free, builder) do |out|
        Hone.call(:hn_trainer_new, out, builder, loss.within(builder), params.size, Node.pack(params, builder), nil)
      end
    end

    def write(leaf, numbers, format = "f*")
      data = numbers.pack(format)
      Hone.check(Hone.call(:hn_trainer_write, self, leaf.within(@builder), data, data.bytesize))
    end

    # One step of one micro-batch; returns the loss.
    def step(rate)
      loss = [0.0].pack("d")
      Hone.check(Hone.call(:hn_trainer_begin, self))
      Hone.check(Hone.call(:hn_trainer_micro, self))
      Hone.check(Hone.call(:hn_trainer_finish, self, rate, Fiddle::Pointer[loss], nil))
      loss.unpack1("d")
    end
  end
end
