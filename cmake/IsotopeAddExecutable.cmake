# isotope_add_executable(name source... [LIBRARIES library...])
#
# A program with kernels, built for every platform that was found: one source, one binary, which picks its platform when it
# starts (ISOTOPE_PLATFORM, `isotope run --platform`). With nvcc the sources are compiled by it, for the CPU and for the GPUs
# of ISOTOPE_CUDA_ARCHITECTURES; without, by the C++ compiler, for the CPU alone.

find_program(ISOTOPE_NVCC NAMES nvcc PATHS /usr/local/cuda/bin)
# Beside the compiler, wherever that is a link to; or where CUDA installs itself.
set(isotope_cuda_roots /usr/local/cuda)
if(ISOTOPE_NVCC)
  file(REAL_PATH ${ISOTOPE_NVCC} isotope_real_nvcc)
  cmake_path(GET isotope_real_nvcc PARENT_PATH isotope_nvcc_folder)
  list(PREPEND isotope_cuda_roots ${isotope_nvcc_folder}/.. ${isotope_nvcc_folder}/../targets/x86_64-linux)
endif()
find_path(ISOTOPE_CUDA_INCLUDE cuda.h PATHS ${isotope_cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
# The part of the CUDA runtime that goes into programs; it looks for the driver when they start.
find_library(ISOTOPE_CUDART libcudart_static.a PATHS ${isotope_cuda_roots} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH)
mark_as_advanced(ISOTOPE_NVCC ISOTOPE_CUDA_INCLUDE ISOTOPE_CUDART)

set(ISOTOPE_PLATFORMS cpu)
if(ISOTOPE_NVCC AND ISOTOPE_CUDA_INCLUDE AND ISOTOPE_CUDART AND NOT ISOTOPE_SANITIZE)
  list(APPEND ISOTOPE_PLATFORMS cuda)
endif()
set(ISOTOPE_CUDA_ARCHITECTURES 90 CACHE STRING "GPUs that programs are compiled for, e.g. 80;90;100")

# One source compiled by nvcc; sets `out` to the object file.
function(isotope_compile_with_nvcc out name source)
  cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE full)
  cmake_path(GET full FILENAME file)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.nvcc/${file}.o)
  set(architectures "")
  foreach(one IN LISTS ISOTOPE_CUDA_ARCHITECTURES)
    list(APPEND architectures -gencode=arch=compute_${one},code=[compute_${one},sm_${one}])
  endforeach()
  set(optimise -O2 ${ISOTOPE_NVCC_OPTIONS})
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(optimise -O1 ${ISOTOPE_NVCC_OPTIONS})
  endif()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.nvcc)
  set(includes "$<TARGET_PROPERTY:isotope::isotope,INTERFACE_INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:isotope::isotope,INTERFACE_COMPILE_DEFINITIONS>")
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${ISOTOPE_NVCC} -x cu -std=c++20 --expt-relaxed-constexpr ${optimise} ${architectures} -Xcompiler=-fPIC
            "-I$<JOIN:${includes},;-I>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>" ${ARGN}
            -MD -MF ${object}.d -c ${full} -o ${object}
    DEPENDS ${full}
    DEPFILE ${object}.d
    COMMENT "Compiling ${file} of ${name} for CPU and GPU"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  set(${out} ${object} PARENT_SCOPE)
endfunction()

# Keeps what the program is made of, for isotope_add_check. Called with the arguments of isotope_add_executable parsed.
macro(isotope_note_sources name)
  set_target_properties(${name} PROPERTIES ISOTOPE_SOURCES "${arg_UNPARSED_ARGUMENTS}" ISOTOPE_LIBRARIES "${arg_LIBRARIES}")
endmacro()

function(isotope_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "isotope_add_executable(${name}): name at least one source file")
  endif()
  if(NOT cuda IN_LIST ISOTOPE_PLATFORMS)
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE isotope::isotope ${arg_LIBRARIES})
    isotope_note_sources(${name})
    return()
  endif()
  set(objects "")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    isotope_compile_with_nvcc(object ${name} ${source})
    list(APPEND objects ${object})
  endforeach()
  add_executable(${name} ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE isotope::isotope ${arg_LIBRARIES} ${ISOTOPE_CUDART} ${CMAKE_DL_LIBS} rt pthread)
  isotope_note_sources(${name})
endfunction()
