# Lists that are derived from what they list, into HN_DERIVED, an include folder of everything that is built:
#
#   backend/cpu/bindings.def    HN_BIND(op) for each op that src/backend/cpu/bind_*.c binds: with a definition of
#                               hn_cpu_<op>, or a line HN_BIND_<WHAT>(op ...) that makes one; and for those of strips.def
#   backend/cpu/strips.def      HN_STRIP(shape, op) for each op that none of these binds, and whose kernel is HN_PARAMS_<op>_f32 of
#                               one of the shapes HN_SHARED_<shape> in kernels/elemwise/elemwise.h
#   kernels/FAMILY/FAMILY.def   HN_KERNEL(slot) for each HN_PARAMS_<slot> of a FAMILY.h that includes that list
#   kernels/slots.def           HN_SLOTS(family, level) for each NAME_<level>.c that is built (cmake/hn_kernels.cmake)
#
# So a kernel is its text and its signature, and an op that has one is bound where its binding is, or by its signature alone. Written only when
# it changes. As a script, for tools: cmake -DHN_ROOT=. -DHN_DERIVED=DIR -P cmake/hn_derive.cmake

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.16)
endif()

function(hn_write_if_changed path text)
  set(old "")
  if(EXISTS ${path})
    file(READ ${path} old)
  endif()
  if(NOT EXISTS ${path} OR NOT old STREQUAL text)
    file(WRITE ${path} "${text}")
  endif()
endfunction()

function(hn_configure_depends)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  endif()
endfunction()

# Ops bound by their kernels' signatures, but for those that the variable named `bound` has already, which gets them.
function(hn_derive_strips bound)
  set(all "${${bound}}")
  set(header ${HN_ROOT}/src/kernels/elemwise/elemwise.h)
  set(ops ${HN_ROOT}/src/ops/ops.def)
  set(strips "")
  file(STRINGS ${ops} known REGEX "^HN_OP\\([a-z0-9_]+")
  list(TRANSFORM known REPLACE "^HN_OP\\(([a-z0-9_]+).*" "\\1")
  file(STRINGS ${header} lines REGEX "^#define HN_PARAMS_[a-z0-9_]+_f32 +HN_SHARED_[a-z_]+$")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^#define HN_PARAMS_([a-z0-9_]+)_f32 +HN_SHARED_([a-z_]+)$" line "${line}")
    set(op ${CMAKE_MATCH_1})
    set(shape ${CMAKE_MATCH_2})
    if(op IN_LIST known AND NOT all MATCHES "HN_BIND\\(${op}\\)")
      string(APPEND strips "HN_STRIP(${shape}, ${op})\n")
      string(APPEND all "HN_BIND(${op})\n")
    endif()
  endforeach()
  hn_write_if_changed(${HN_DERIVED}/backend/cpu/strips.def "${strips}")
  hn_configure_depends(${header} ${ops})
  set(${bound} "${all}" PARENT_SCOPE)
endfunction()

function(hn_derive_bindings)
  file(GLOB sources ${HN_ROOT}/src/backend/cpu/bind_*.c)
  set(list "")
  foreach(source IN LISTS sources)
    file(STRINGS ${source} lines REGEX "^(HN_BIND_[A-Z_]+\\([a-z0-9_]+|const hn_cpu_binding hn_cpu_[a-z0-9_]+ =)")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^(HN_BIND_[A-Z_]+\\(|const hn_cpu_binding hn_cpu_)([a-z0-9_]+).*" "\\2" op "${line}")
      string(APPEND list "HN_BIND(${op})\n")
    endforeach()
  endforeach()
  hn_derive_strips(list)
  hn_write_if_changed(${HN_DERIVED}/backend/cpu/bindings.def "${list}")
  hn_configure_depends(${sources})
endfunction()

function(hn_derive_kernels)
  file(GLOB headers ${HN_ROOT}/src/kernels/*/*.h)
  foreach(header IN LISTS headers)
    get_filename_component(family ${header} NAME_WE)
    file(STRINGS ${header} lists REGEX "^#include \"kernels/${family}/${family}.def\"")
    if(lists)
      set(list "")
      file(READ ${header} text)
      string(REGEX MATCHALL "#define HN_PARAMS_[a-z0-9_]+" lines "${text}")
      foreach(line IN LISTS lines)
        string(REPLACE "#define HN_PARAMS_" "" slot "${line}")
        string(APPEND list "HN_KERNEL(${slot})\n")
      endforeach()
      hn_write_if_changed(${HN_DERIVED}/kernels/${family}/${family}.def "${list}")
      hn_configure_depends(${header})
    endif()
  endforeach()
endfunction()

hn_derive_bindings()
hn_derive_kernels()
