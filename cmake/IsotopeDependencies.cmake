# The libraries that libisotope links. Used by this build and, installed, by find_package(isotope).

# Debian's name of what brings each one, for the error message.
set(isotope_package_Boost libboost-context-dev)
set(isotope_package_hwloc libhwloc-dev)
set(isotope_package_libsodium libsodium-dev)
set(isotope_package_fmt libfmt-dev)
set(isotope_package_CLI11 libcli11-dev)
set(isotope_package_nlohmann_json nlohmann-json3-dev)
set(isotope_package_PkgConfig pkg-config)
set(isotope_package_Threads g++)

# One error that names everything missing, instead of one configure run per library.
function(isotope_require)
  set(missing "")
  set(packages "")
  foreach(name IN LISTS ARGN)
    if(NOT ${name}_FOUND)
      string(APPEND missing " ${name}")
      string(APPEND packages " ${isotope_package_${name}}")
    endif()
  endforeach()
  if(missing)
    message(FATAL_ERROR "Isotope needs these libraries and did not find them:${missing}\n"
      "On Debian or Ubuntu:  apt-get install --no-install-recommends${packages}\n"
      "Elsewhere: docs/dependencies.md lists them.")
  endif()
endfunction()

# A macro: imported targets and *_VERSION have to reach the caller's scope.
macro(isotope_find_link_dependencies)
  find_package(Threads QUIET)
  find_package(PkgConfig QUIET)
  find_package(Boost 1.70 QUIET CONFIG COMPONENTS context)
  find_package(fmt 8 QUIET CONFIG)
  if(PkgConfig_FOUND)
    pkg_check_modules(hwloc QUIET IMPORTED_TARGET GLOBAL hwloc>=2.0)
    pkg_check_modules(libsodium QUIET IMPORTED_TARGET GLOBAL libsodium>=1.0.16)
  endif()
endmacro()

# What the build needs beyond that is header-only and shows in no public header.
macro(isotope_find_dependencies)
  isotope_find_link_dependencies()
  find_package(CLI11 QUIET CONFIG)
  find_package(nlohmann_json QUIET CONFIG)
  isotope_require(Threads PkgConfig Boost hwloc libsodium fmt CLI11 nlohmann_json)
endmacro()

set(ISOTOPE_LINK_LIBRARIES Boost::context PkgConfig::hwloc PkgConfig::libsodium fmt::fmt Threads::Threads)
