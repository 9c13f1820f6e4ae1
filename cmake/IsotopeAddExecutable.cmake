# isotope_add_executable(name source... [LIBRARIES library...])
#
# A program with kernels, built for every platform that was found. One source, one target per platform: the cpu program
# is `name` itself. ISOTOPE_PLATFORMS lists the platforms; this version knows cpu.

set(ISOTOPE_PLATFORMS cpu)

function(isotope_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "isotope_add_executable(${name}): name at least one source file")
  endif()
  foreach(platform IN LISTS ISOTOPE_PLATFORMS)
    if(platform STREQUAL "cpu")
      add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
      target_link_libraries(${name} PRIVATE isotope::isotope ${arg_LIBRARIES})
    else()
      message(FATAL_ERROR "isotope_add_executable(${name}): unknown platform '${platform}', expected cpu")
    endif()
  endforeach()
endfunction()
