# What is built. A .def file is the list where one exists: an edit of it re-configures.

# The names in `NAME(x, ...)` lines of a .def file.
function(hn_read_def file macro out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^${macro}\\(")
  set(names "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^${macro}\\( *([a-z0-9_]+).*" "\\1" name "${line}")
    list(APPEND names ${name})
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Files of each layer that no .def names; one noun each.
set(HN_LAYERS base quant kernels)
set(HN_FILES_base status heap isa clock pool mathfn trig power)
hn_read_def(${CMAKE_SOURCE_DIR}/src/quant/formats.def HN_FORMAT HN_FORMATS)
set(HN_FILES_quant format grid affine ${HN_FORMATS})
set(HN_FILES_kernels gemm/gemm quantize/decode)

function(hn_layer_sources layer out)
  set(names ${HN_FILES_${layer}})
  set(sources "")
  foreach(name IN LISTS names)
    list(APPEND sources ${CMAKE_SOURCE_DIR}/src/${layer}/${name}.c)
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
