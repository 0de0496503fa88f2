# Lists that are derived from what they list, into HN_DERIVED, an include folder of everything that is built:
#
#   backend/cpu/bindings.def    HN_BIND(op) for each op that src/backend/cpu/bind_*.c binds: with a definition of
#                               hn_cpu_<op>, or a line HN_BIND_<WHAT>(op ...) that makes one
#   kernels/FAMILY/FAMILY.def   HN_KERNEL(slot) for each HN_PARAMS_<slot> of a FAMILY.h that includes that list
#   kernels/slots.def           HN_SLOTS(family, level) for each NAME_<level>.c that is built (cmake/hn_kernels.cmake)
#
# So a kernel is its text and its signature, and an op that has one is bound where its binding is. Written only when
# it changes. As a script, for tools: cmake -DHN_ROOT=. -DHN_DERIVED=DIR -P cmake/hn_derive.cmake

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
