# What is built: every source of a layer's folder and of the folders in it. Nothing is listed by hand; a file
# belongs by where it lies:
#
#   src/LAYER/**.c          to the layer, whose names and order docs/layers.txt gives,
#   src/base/os/SYSTEM/*.c  if SYSTEM is what is built for: posix or windows; what is in its folder program
#                           to the program, for it changes the host,
#   src/kernels/**.c        as hn_kernels.cmake says,
#   src/server/**.c         to the program and to the tests, and not to the library,
#   src/cli/**.c            to the program.
#
# A file added or taken away configures the build again; build/sources.txt is the list, for scripts.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/layers.txt)
file(STRINGS ${CMAKE_SOURCE_DIR}/docs/layers.txt HN_LAYERS REGEX "^[a-z]+ *:")
list(TRANSFORM HN_LAYERS REPLACE " *:.*" "")
list(REMOVE_ITEM HN_LAYERS server cli) # guests: of the program, not of the library

if(WIN32)
  set(HN_SYSTEM windows)
  set(HN_OTHER_SYSTEM posix)
else()
  set(HN_SYSTEM posix)
  set(HN_OTHER_SYSTEM windows)
endif()

# The sources of a folder of src/.
function(hn_sources folder out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
  list(FILTER sources EXCLUDE REGEX "/src/base/os/(${HN_OTHER_SYSTEM}|${HN_SYSTEM}/program)/")
  if(folder STREQUAL cli)
    file(GLOB program CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/os/${HN_SYSTEM}/program/*.c)
    list(APPEND sources ${program})
  endif()
  if(folder STREQUAL kernels)
    set(sources ${HN_KERNEL_PLAIN})
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# build/sources.txt: all of them, and the kernels of the levels built for, one a line from the root.
function(hn_write_sources)
  set(listed "")
  foreach(layer IN LISTS HN_LAYERS ITEMS server cli)
    hn_sources(${layer} sources)
    list(APPEND listed ${sources})
  endforeach()
  foreach(level IN LISTS HN_KERNEL_LEVELS)
    list(APPEND listed ${HN_KERNEL_SOURCES_${level}})
  endforeach()
  list(REMOVE_DUPLICATES listed)
  list(TRANSFORM listed REPLACE "^${CMAKE_SOURCE_DIR}/" "")
  string(REPLACE ";" "\n" listed "${listed}")
  file(WRITE ${CMAKE_BINARY_DIR}/sources.txt "${listed}\n")
endfunction()
