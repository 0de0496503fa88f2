# A disk of its own that is soon full, for tests of what happens then. Who requires it has `check`.

# Yields its folder; skipped, by name, where this user mounts none.
def with_small_disk(disk, size)
  Dir.mkdir(disk)
  return puts('skipped: a disk that is full: this user mounts none') unless Process.uid.zero? && system('mount', '-t', 'tmpfs', '-o', "size=#{size}", 'none', disk, err: File::NULL)
  begin
    yield disk
  ensure
    check('the disk is given back', system('umount', disk))
  end
end

# All of it but so many bytes.
def fill(disk, but = 0)
  filler = File.join(disk, 'filler')
  File.binwrite(filler, '') # what it had counts as free
  File.open(filler, 'wb') { |f| loop { f.syswrite("\0" * 4096) } } rescue Errno::ENOSPC
  File.truncate(filler, [File.size(filler) - but, 0].max)
end

def clear(disk) = File.delete(File.join(disk, 'filler'))
