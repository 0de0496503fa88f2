# make install: library, headers, program, pkg-config file, CMake package.
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

# The prefix is the one of `cmake --install --prefix`, so the file finds it from where it lies.
file(RELATIVE_PATH HN_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/hone.pc.in ${CMAKE_CURRENT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
