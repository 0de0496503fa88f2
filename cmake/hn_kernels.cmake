# Kernel families: one text compiled once per instruction-set level.
function(hn_kernel_objects out)
endfunction()
