# make install: library, headers, their manual pages, program, pkg-config file, CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS hone hone_shared EXPORT hone-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT hone-targets NAMESPACE hone:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)

configure_package_config_file(cmake/hone-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/hone-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/hone-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hone-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hone-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)

# A manual page a header, made of it.
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/hone/*.h)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man3.made
                   COMMAND ${CMAKE_SOURCE_DIR}/tools/man.sh ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/man3
                   COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man3.made
                   DEPENDS ${headers} ${CMAKE_SOURCE_DIR}/tools/man.sh VERBATIM)
if(NOT CMAKE_HOST_WIN32)
  add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man3.made)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.3")
endif()

# The prefix is the one of `cmake --install --prefix`, so the file finds it from where it lies.
file(RELATIVE_PATH HN_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/hone.pc.in ${CMAKE_CURRENT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
