# cmake --install: headers, library, command line, and what find_package(isotope) reads.
include(CMakePackageConfigHelpers)

set(isotope_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/isotope)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS isotope EXPORT isotopeTargets)
if(TARGET isotope_check)
  install(TARGETS isotope_check EXPORT isotopeTargets)
endif()
if(TARGET isotope_gpu_alloc)
  install(TARGETS isotope_gpu_alloc)
endif()
if(TARGET isotope_cli)
  install(TARGETS isotope_cli)
endif()
install(EXPORT isotopeTargets NAMESPACE isotope:: DESTINATION ${isotope_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/isotopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/isotopeConfig.cmake INSTALL_DESTINATION ${isotope_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/isotopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/isotopeConfig.cmake
  ${PROJECT_BINARY_DIR}/isotopeConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/IsotopeDependencies.cmake
  ${PROJECT_SOURCE_DIR}/cmake/IsotopeAddExecutable.cmake
  ${PROJECT_SOURCE_DIR}/cmake/IsotopeAddCheck.cmake
  DESTINATION ${isotope_cmake_dir})
