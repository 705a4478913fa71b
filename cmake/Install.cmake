# What `find_package(callonce)` finds: each room has its own export file (see callonce_library);
# the config file includes those of the components asked for.
include(CMakePackageConfigHelpers)
set(callonce_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/callonce)
configure_package_config_file(cmake/callonce-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/callonce-config.cmake INSTALL_DESTINATION ${callonce_config_dir})
# Before 1.0 each minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/callonce-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/callonce-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/callonce-config-version.cmake
  DESTINATION ${callonce_config_dir} COMPONENT library)
