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

  class Error < StandardError; end

  def self.check(status)
    raise Error, C.hn_error_message.to_s unless status.zero?
  end

  # Calls `make(out)` and returns the pointer that it stored.
  def self.made
    out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    out[0, Fiddle::SIZEOF_VOIDP] = [0].pack("J")
    check(yield(out))
    out.ptr
  end

  # An array of pointers; nil is NULL.
  def self.pointers(list)
    list.map { |p| p.nil? ? 0 : p.to_i }.pack("J*")
  end

  class Engine
    attr_reader :pointer

    # Fields of hn_engine_options: devices, isa, memory_limit, n_threads.
    def initialize(devices: nil, isa: nil, memory_limit: 0, threads: 0)
      @texts = [devices, isa].map { |t| t && Fiddle::Pointer[t] }
      fields = [*@texts.map { |t| t ? t.to_i : 0 }, memory_limit].pack("JJJ") +
               [threads, 0].pack("ll") + [0, 0, 0].pack("JJJ")
      options = [Fiddle::SIZEOF_VOIDP + fields.bytesize].pack("J") + fields # sizes come first
      @pointer = Hone.made { |out| C.hn_engine_new(out, Fiddle::Pointer[options]) }
    end

    def free
      C.hn_engine_free(@pointer) if @pointer
      @pointer = nil
    end

    def cancel = C.hn_engine_cancel(@pointer)
    def resume = C.hn_engine_resume(@pointer)
    def fail_allocation(nth) = C.hn_engine_fail_allocation(@pointer, nth)
    def cancel_at(nth) = C.hn_engine_cancel_at(@pointer, nth)

    def live_bytes
      bytes = [0].pack("q")
      C.hn_engine_memory(@pointer, Fiddle::Pointer[bytes], nil, nil)
      bytes.unpack1("q")
    end
  end

  class Builder
    attr_reader :pointer

    def initialize(engine)
      @pointer = Hone.made { |out| C.hn_builder_new(out, engine.pointer) }
    end

    def free
      C.hn_builder_free(@pointer) if @pointer
      @pointer = nil
    end

    def leaf(kind, name, shape, type = "f32")
      C.hn_builder_leaf(@pointer, kind, name, type, shape.size, shape.pack("q*"))
    end

    def weight(name, shape, type = "f32") = leaf("weight", name, shape, type)
    def input(name, shape, type = "f32") = leaf("input", name, shape, type)

    def op(name, *inputs, **attributes)
      text = attributes.map { |k, v| "#{k}=#{v}" }.join(" ")
      C.hn_builder_op(@pointer, name, text, inputs.size, Hone.pointers(inputs))
    end

    def output(node, index) = C.hn_builder_output(node, index)
    def check = Hone.check(C.hn_builder_status(@pointer))

    def gradients(loss, params, recompute_every: 0)
      out = Hone.pointers([nil] * params.size)
      Hone.check(C.hn_builder_gradients(@pointer, loss, params.size, Hone.pointers(params),
                                        recompute_every, Fiddle::Pointer[out]))
      out.unpack("J*").map { |p| Fiddle::Pointer.new(p) }
    end
  end

  def self.count(node)
    shape = "\0" * 48
    check(C.hn_node_shape(node, Fiddle::Pointer[shape], shape.bytesize))
    rank, = shape.unpack("l")
    shape[8, 8 * rank].unpack("q*").inject(1, :*)
  end

  class Exec
    def initialize(builder, wanted, plan: nil)
      @counts = wanted.map { |n| Hone.count(n) }
      @pointer = Hone.made do |out|
        C.hn_exec_new(out, builder.pointer, wanted.size, Hone.pointers(wanted), plan)
      end
    end

    def free
      C.hn_exec_free(@pointer) if @pointer
      @pointer = nil
    end

    def write(leaf, floats, format = "f*")
      data = floats.pack(format)
      Hone.check(C.hn_exec_write(@pointer, leaf, data, data.bytesize))
    end

    # All wanted values as arrays of floats.
    def run
      Hone.check(C.hn_exec_run(@pointer))
      @counts.each_with_index.map do |n, i|
        data = "\0" * (4 * n)
        Hone.check(C.hn_exec_read(@pointer, i, Fiddle::Pointer[data], data.bytesize))
        data.unpack("f*")
      end
    end
  end

  class Trainer
    def initialize(builder, loss, params)
      @pointer = Hone.made do |out|
        C.hn_trainer_new(out, builder.pointer, loss, params.size, Hone.pointers(params), nil)
      end
    end

    def free
      C.hn_trainer_free(@pointer) if @pointer
      @pointer = nil
    end

    def write(leaf, numbers, format = "f*")
      data = numbers.pack(format)
      Hone.check(C.hn_trainer_write(@pointer, leaf, data, data.bytesize))
    end

    # One step of one micro-batch; returns the loss.
    def step(rate)
      loss = [0.0].pack("d")
      Hone.check(C.hn_trainer_begin(@pointer))
      Hone.check(C.hn_trainer_micro(@pointer))
      Hone.check(C.hn_trainer_finish(@pointer, rate, Fiddle::Pointer[loss], nil))
      loss.unpack1("d")
    end
  end
end
