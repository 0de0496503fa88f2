# Kernels, compiled for the levels of src/base/levels.def. In the folder of a family (HN_FAMILIES of
# src/kernels/families.h)
#
#   NAME_text.c      is compiled once for every level of texts, with HN_LEVEL its name,
#   NAME_<level>.c   for that level alone,
#   any other file   once, as any code is: it belongs to the layer.
#
# A new kernel, text, file or level is found by its name; nothing is listed here.

set(HN_LEVELS_DEF ${CMAKE_SOURCE_DIR}/src/base/levels.def)
set(HN_FAMILIES_H ${CMAKE_SOURCE_DIR}/src/kernels/families.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HN_LEVELS_DEF} ${HN_FAMILIES_H})

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(HN_ARCHITECTURE x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(HN_ARCHITECTURE arm)
else()
  set(HN_ARCHITECTURE none)
endif()

# HN_KERNEL_LEVELS of this architecture; for each HN_MADE_OF_<level> and HN_KERNEL_FLAGS_<level>.
set(HN_KERNEL_LEVELS ref)
set(HN_MADE_OF_ref texts)
set(HN_ALL_LEVELS ref)
file(STRINGS ${HN_LEVELS_DEF} rows REGEX "^HN_ISA_LEVEL\\(")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^HN_ISA_LEVEL\\(([a-z0-9]+), ([a-z0-9]+), (texts|files), (.*), [^\"]*, \"(.*)\"\\)$")
    message(FATAL_ERROR "levels.def: a line that is not understood: ${row}")
  endif()
  set(level ${CMAKE_MATCH_1})
  set(architecture ${CMAKE_MATCH_2})
  set(HN_MADE_OF_${level} ${CMAKE_MATCH_3})
  set(own ${CMAKE_MATCH_5})
  string(REGEX MATCHALL "HN_ISA_[a-z0-9]+" implied "${CMAKE_MATCH_4}")
  separate_arguments(own)
  set(HN_KERNEL_FLAGS_${level} "")
  foreach(other IN LISTS implied)
    string(REPLACE HN_ISA_ "" other ${other})
    list(APPEND HN_KERNEL_FLAGS_${level} ${HN_KERNEL_FLAGS_${other}})
  endforeach()
  list(APPEND HN_KERNEL_FLAGS_${level} ${own})
  list(APPEND HN_ALL_LEVELS ${level})
  if(architecture STREQUAL HN_ARCHITECTURE)
    list(APPEND HN_KERNEL_LEVELS ${level})
  endif()
endforeach()

# Sources of each level, and HN_KERNEL_PLAIN, those of the layer.
set(HN_KERNEL_PLAIN ${CMAKE_SOURCE_DIR}/src/kernels/families.c)
set(HN_SLOTS_LIST "")
file(READ ${HN_FAMILIES_H} header)
string(REGEX MATCHALL "X\\([a-z0-9]+, with\\)" rows "${header}")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "X\\(([a-z0-9]+),.*" "\\1" family "${row}")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/${family}/*.c)
  if(NOT files)
    message(FATAL_ERROR "families.h: src/kernels/${family} has no sources")
  endif()
  foreach(file IN LISTS files)
    string(REGEX REPLACE ".*_([a-z0-9]+)\\.c$" "\\1" last ${file})
    if("${last}" STREQUAL "text")
      foreach(level IN LISTS HN_KERNEL_LEVELS)
        if(HN_MADE_OF_${level} STREQUAL "texts")
          list(APPEND HN_KERNEL_SOURCES_${level} ${file})
        endif()
      endforeach()
    elseif(last IN_LIST HN_ALL_LEVELS)
      list(APPEND HN_KERNEL_SOURCES_${last} ${file})
      file(STRINGS ${file} slots REGEX "^HN_KERNEL_SLOTS\\(${family}\\)")
      if(slots)
        list(APPEND HN_SLOTS_OF_${last} ${family})
      endif()
    else()
      list(APPEND HN_KERNEL_PLAIN ${file})
    endif()
  endforeach()
endforeach()

foreach(level IN LISTS HN_KERNEL_LEVELS) # a level's slots come after those of the levels that it implies
  foreach(family IN LISTS HN_SLOTS_OF_${level})
    string(APPEND HN_SLOTS_LIST "HN_SLOTS(${family}, ${level})\n")
  endforeach()
endforeach()
hn_write_if_changed(${HN_DERIVED}/kernels/slots.def "${HN_SLOTS_LIST}")

# One object library a level: the same source may not have two sets of flags in one target.
# Sanitizers make every load a branch, and a kernel takes the compiler minutes. Kernels are held to their
# bounds by the checks' unreadable pages instead; everything above them is sanitized.
# Lines for backtraces, but no variables: those of inlined intrinsics made each of the test programs 60 MB.
set(HN_KERNEL_OPTIMISE -O3 -g1)
if(HN_SANITIZE)
  set(HN_KERNEL_OPTIMISE -O2 -g1 -fno-sanitize=all)
endif()

function(hn_kernel_objects out)
  set(objects ${${out}})
  foreach(level IN LISTS HN_KERNEL_LEVELS)
    if(HN_KERNEL_SOURCES_${level})
      add_library(hn_kernels_${level} OBJECT ${HN_KERNEL_SOURCES_${level}})
      hn_compile_options(hn_kernels_${level})
      target_compile_definitions(hn_kernels_${level} PRIVATE HN_LEVEL=${level} HN_LEVEL_${level}=1)
      target_compile_options(hn_kernels_${level} PRIVATE ${HN_KERNEL_OPTIMISE} ${HN_KERNEL_FLAGS_${level}})
      list(APPEND objects $<TARGET_OBJECTS:hn_kernels_${level}>)
    endif()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
