# progress_terminal.rb HONE MODEL DATA OUT: hone train on a terminal whose window is made narrower while it
# runs, and wider again: every line after that fits the window, and uses it. Prints how many checks passed.
require "pty"
require "timeout"
require "io/console"

HONE, MODEL, DATA, OUT = ARGV

# Lines as they are drawn: each begins with a carriage return and ends with "erase the rest".
def lines(text)
  text.force_encoding("UTF-8").scrub.scan(/\r([^\r\e\n]+)\e\[K/).flatten
end

passed = 0
master, slave = PTY.open
master.winsize = [24, 100]
pid = spawn({ "TERM" => "xterm" }, HONE, "train", MODEL, "--data", DATA, "--out", OUT, "--steps", "1000000", "--batch", "1",
            "--rank", "1", "--samples", "0", "--save-every", "1000000", in: slave, out: slave, err: slave, pgroup: true)
slave.close
begin
  Timeout.timeout(500) do
    [100, 40, 24, 100].each do |width|
      master.winsize = [24, width]
      fits = ->(line) { line.length < width && line.length >= width / 2 }
      rest, drawn, n = "".b, [], 0
      # What was on its way is of the window before: some lines are let pass, as many as 64 KiB may hold.
      until n > 400 && drawn.all?(&fits)
        abort "FAILED: #{width} columns, after #{n} lines: #{(drawn.find { |line| !fits.(line) } || drawn.last).inspect}" if n > 5000
        rest << master.readpartial(4096).b
        whole = rest.rindex("\e[K".b) or next
        new = lines(rest.slice!(0, whole + 3))
        n += new.length
        drawn = (drawn + new).last(20)
      end
      passed += 2
    end
  end
rescue Timeout::Error
  abort "FAILED: no lines"
ensure
  Process.kill(:KILL, pid)
  Process.wait(pid)
end
puts "#{passed} passed"
