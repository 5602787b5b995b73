# One way to make a target. Every library, program and test of the project goes through here, so that
# language level, warnings, include root and sanitizers are the same everywhere.

find_package(Threads REQUIRED)

find_program(RM_CCACHE ccache)
if(RM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${RM_CCACHE}" CACHE STRING "" FORCE)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

add_library(rm_options INTERFACE)
target_compile_features(rm_options INTERFACE cxx_std_20)
target_include_directories(rm_options INTERFACE "${PROJECT_SOURCE_DIR}")
# g++ 12 sees ghosts in std::string (restrict) and std::variant (maybe-uninitialized) when it optimises.
set(rm_warnings -Wall -Wextra -Werror -Wno-missing-field-initializers -fno-math-errno
                $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_compile_options(rm_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${rm_warnings}>")
target_link_libraries(rm_options INTERFACE Threads::Threads)
# Released and fresh buffers are NaN-filled outside release builds.
target_compile_definitions(rm_options INTERFACE $<$<CONFIG:Dev>:RM_POISON=1>)
if(RM_SANITIZE STREQUAL "address")
  target_compile_options(rm_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
  target_link_options(rm_options INTERFACE -fsanitize=address,undefined)
elseif(RM_SANITIZE STREQUAL "fuzz")
  target_compile_options(rm_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                                              -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rm_options INTERFACE -fsanitize=address,undefined)
elseif(RM_SANITIZE STREQUAL "thread")
  target_compile_options(rm_options INTERFACE -fsanitize=thread "$<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>")
  target_link_options(rm_options INTERFACE -fsanitize=thread)
endif()

# rm_library(name SOURCES a.cc ... [USES rm::base ...] [PRIVATE_USES x ...]) makes rm_name and rm::name.
# USES are its allowed arrows; tests/layering checks them against the table of docs/architecture.md.
function(rm_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  add_library(rm_${name} STATIC ${arg_SOURCES})
  add_library(rm::${name} ALIAS rm_${name})
  target_link_libraries(rm_${name} PUBLIC rm_options ${arg_USES} PRIVATE ${arg_PRIVATE_USES})
endfunction()

# rm_program(output-name SOURCES ... USES ...): an executable in bin/.
function(rm_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE rm_options ${arg_USES})
endfunction()

add_custom_target(rm_thread_tests)

# rm_test(name SOURCES ... USES ... [TIMEOUT seconds] [LABELS ...]): a GoogleTest program, one CTest
# entry per program.
function(rm_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE rm_options ${arg_USES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  # `threads`: worth the thread sanitizer, which builds and runs only these.
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(rm_thread_tests ${name})
  endif()
endfunction()
