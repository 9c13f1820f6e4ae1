# How our own code is compiled: standard, warnings, sanitizers, ccache, and where the results land.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

find_program(ISOTOPE_CCACHE ccache)
mark_as_advanced(ISOTOPE_CCACHE)
if(ISOTOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache wants to be told before it caches objects that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ISOTOPE_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(ISOTOPE_WERROR)
  add_compile_options(-Werror)
endif()

if(ISOTOPE_SANITIZE)
  # A finding ends the program, so that a test cannot pass over it.
  add_compile_options(-fsanitize=${ISOTOPE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ISOTOPE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND ISOTOPE_SANITIZE MATCHES "thread")
    # g++ warns that it does not model std::atomic_thread_fence; clang does not either, but is silent.
    add_compile_options(-Wno-tsan)
  endif()
endif()
