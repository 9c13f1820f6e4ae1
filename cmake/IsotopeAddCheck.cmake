# The checker (docs/checker.md).
#
# isotope_add_check(target)     adds <target>.check, made of the sources of `target`, for `isotope check`
# isotope_check_target(target)  makes `target` itself a program for the checker: for unit tests that call isotope::run_checked
#
# The program's own code is compiled with the calls of the thread sanitizer, and linked with the checker's bodies for
# them instead of the sanitizer's library. Kernels see the platform `sim`. Only code compiled so is checked: give libraries of
# yours that have kernels to isotope_check_target too.

# No optimisation that would merge or move lines; headers of ours are inlined always, so that lines are the user's own.
set(ISOTOPE_WATCHED_OPTIONS -fsanitize=thread -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ makes copies of a known size out of single instructions, which nobody sees; a call is seen.
  list(APPEND ISOTOPE_WATCHED_OPTIONS -Wno-tsan -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset)
endif()

function(isotope_check_target target)
  if(NOT TARGET isotope::check)
    message(FATAL_ERROR "isotope_check_target(${target}): this build has no checker (it is left out under sanitizers)")
  endif()
  target_compile_options(${target} PRIVATE ${ISOTOPE_WATCHED_OPTIONS})
  target_link_libraries(${target} PRIVATE isotope::check)
  target_link_options(${target} PRIVATE -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
endfunction()

function(isotope_add_check target)
  if(NOT TARGET isotope::check)
    message(STATUS "isotope_add_check(${target}): no checker in this build, so no ${target}.check")
    return()
  endif()
  get_target_property(sources ${target} ISOTOPE_SOURCES)
  if(NOT sources)
    get_target_property(sources ${target} SOURCES)
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  set(full "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} OUTPUT_VARIABLE one)
    list(APPEND full ${one})
  endforeach()
  add_executable(${target}.check ${full})
  isotope_check_target(${target}.check)
  get_target_property(libraries ${target} ISOTOPE_LIBRARIES)
  if(NOT libraries)
    get_target_property(libraries ${target} LINK_LIBRARIES)
  endif()
  if(libraries)
    list(REMOVE_ITEM libraries isotope::isotope isotope)
    target_link_libraries(${target}.check PRIVATE ${libraries})
  endif()
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    get_target_property(values ${target} ${property})
    if(values)
      set_property(TARGET ${target}.check APPEND PROPERTY ${property} ${values})
    endif()
  endforeach()
endfunction()
