# For the passer-by: make, make demo, make test, make model, make bench, make install. CMake does the work.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=

.PHONY: all demo model test bench install tools clean

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --target hone_program -j $(JOBS)

# Installs what is missing on Debian and Ubuntu, or says what to install.
tools:
	@tools/need.sh cmake:cmake ninja:ninja-build cc:build-essential

$(BUILD)/CMakeCache.txt: | tools
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

demo: all
	@$(BUILD)/hone demo

# The embedded model, trained again from nothing: the same bits, or it fails. Goes on where it was
# interrupted.
model: all
	@recipes/tiny/make.sh $(abspath $(BUILD)/hone) $(abspath $(BUILD)/model) $(if $(wildcard $(BUILD)/model/run/*.ckpt),--resume)
	@cmp $(BUILD)/model/hone-tiny.gguf assets/hone-tiny.gguf && echo "assets/hone-tiny.gguf has the same bits"

test: | tools
	@tools/need.sh ruby:ruby,ruby-fiddle
	@$(MAKE) --no-print-directory $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS)

bench: all
	@$(BUILD)/hone bench kernels

# The program and the library, without their symbols for debuggers; no test is built for it.
install: all
	@cmake --build $(BUILD) --target hone hone_shared man -j $(JOBS)
	@cmake --install $(BUILD) --prefix $(PREFIX) --strip

clean:
	@rm -rf $(BUILD)
