# Kernel families. A text is compiled once per instruction-set level, with HN_LEVEL_<level> defined
# and the flags of that level; a file named *_<level>.c is compiled for that level alone.
# A new family, text or file is one line here.
#
#   hn_kernel_family(NAME TEXTS a.c of every level... FILES a_avx2 b_neon...)

set(HN_KERNEL_TEXTS "")
set(HN_KERNEL_FILES "")

macro(hn_kernel_family name)
  cmake_parse_arguments(family "" "" "TEXTS;FILES" ${ARGN})
  foreach(file IN LISTS family_TEXTS)
    list(APPEND HN_KERNEL_TEXTS ${name}/${file})
  endforeach()
  foreach(file IN LISTS family_FILES)
    list(APPEND HN_KERNEL_FILES ${name}/${file})
  endforeach()
endmacro()

hn_kernel_family(elemwise TEXTS elemwise elemwise_binary elemwise_grad)
hn_kernel_family(convert TEXTS convert)
hn_kernel_family(norm TEXTS norm)
hn_kernel_family(softmax TEXTS softmax)
hn_kernel_family(rope TEXTS rope)
hn_kernel_family(reduce TEXTS reduce)
hn_kernel_family(optim TEXTS optim)
hn_kernel_family(gemm TEXTS gemm_text FILES dots_avx512bf16)
hn_kernel_family(gemv TEXTS gemv_text)
hn_kernel_family(attn TEXTS attn_text attn_grad_text eager_text)
hn_kernel_family(xent TEXTS xent_text)
hn_kernel_family(quantize TEXTS decode_text)
hn_kernel_family(peak TEXTS peak)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(HN_KERNEL_LEVELS ref avx2 avx512 avx512bf16)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(HN_KERNEL_LEVELS ref neon)
else()
  set(HN_KERNEL_LEVELS ref)
endif()
set(HN_KERNEL_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(HN_KERNEL_FLAGS_avx512 ${HN_KERNEL_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl
  -mavx512vnni -mprefer-vector-width=512)
set(HN_KERNEL_FLAGS_avx512bf16 ${HN_KERNEL_FLAGS_avx512} -mavx512bf16)
set(HN_KERNEL_LEVELS_OF_FILES avx512bf16) # that no text is compiled for

# One object library a level: the same source may not have two sets of flags in one target.
# Sanitizers make every load a branch, and a kernel takes the compiler minutes. Kernels are held to their
# bounds by the checks' unreadable pages instead; everything above them is sanitized.
set(HN_KERNEL_OPTIMISE -O3)
if(HN_SANITIZE)
  set(HN_KERNEL_OPTIMISE -O2 -fno-sanitize=all)
endif()

function(hn_kernel_objects out)
  set(objects ${${out}})
  foreach(level IN LISTS HN_KERNEL_LEVELS)
    set(sources "")
    if(NOT level IN_LIST HN_KERNEL_LEVELS_OF_FILES)
      list(TRANSFORM HN_KERNEL_TEXTS REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/src/kernels/\\1.c" OUTPUT_VARIABLE sources)
    endif()
    foreach(file IN LISTS HN_KERNEL_FILES)
      if(file MATCHES "_${level}$")
        list(APPEND sources ${CMAKE_SOURCE_DIR}/src/kernels/${file}.c)
      endif()
    endforeach()
    if(sources)
      add_library(hn_kernels_${level} OBJECT ${sources})
      hn_compile_options(hn_kernels_${level})
      target_compile_definitions(hn_kernels_${level} PRIVATE HN_LEVEL_${level}=1)
      target_compile_options(hn_kernels_${level} PRIVATE ${HN_KERNEL_OPTIMISE} ${HN_KERNEL_FLAGS_${level}})
      list(APPEND objects $<TARGET_OBJECTS:hn_kernels_${level}>)
    endif()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
