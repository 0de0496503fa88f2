# The flags that every hone object is compiled with.
function(hn_compile_options target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}
    ${HN_DERIVED})
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wvla
    -Wundef -Wcast-qual -Wpointer-arith -Wdouble-promotion -Wimplicit-fallthrough
    -Wno-missing-field-initializers
    $<$<C_COMPILER_ID:Clang>:-Wno-double-promotion -Wno-enum-float-conversion>) # of INFINITY, and of constants
  if(HN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(HN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${HN_SANITIZE})
  endif()
  if(HN_SABOTAGE)
    target_compile_definitions(${target} PRIVATE HN_SABOTAGE_${HN_SABOTAGE}=1)
  endif()
endfunction()
