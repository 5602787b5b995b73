# Defines every library, program and test of the project, so that language level, warnings, include root and
# sanitizers are the same everywhere.

find_package(Threads REQUIRED)

find_program(RM_CCACHE ccache)
if(RM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Makes paths below the source tree relative, so that a second clone finds the first one's objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros;${RM_CCACHE}"
      CACHE STRING "" FORCE)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# lld takes a fifth of ld's time, and there are a hundred test programs to link.
find_program(RM_LLD ld.lld)
mark_as_advanced(RM_LLD)
if(RM_LLD)
  add_link_options(-fuse-ld=lld)
endif()

option(RM_UNITY "Compile sources in batches: a build from nothing is faster, the next one after a change slower" OFF)
if(RM_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # The interpreter itself: the program found may be a version manager's script, many times as slow to start.
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable)"
                  OUTPUT_VARIABLE rm_python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/batches.py")
endif()

add_library(rm_options INTERFACE)
target_compile_features(rm_options INTERFACE cxx_std_20)
target_include_directories(rm_options INTERFACE "${PROJECT_SOURCE_DIR}")
# g++ 12 has false warnings about std::string (restrict) and std::variant (maybe-uninitialized) in optimised code.
set(rm_warnings -Wall -Wextra -Werror -Wno-missing-field-initializers -fno-math-errno
                $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(RM_UNITY)
  # A source may build types from those of its unnamed namespace, and a batch includes sources.
  list(APPEND rm_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
target_compile_options(rm_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${rm_warnings}>")
target_link_libraries(rm_options INTERFACE Threads::Threads)
# By default g++ collects garbage from 128 MiB on, but a batch needs 0.5 GiB: this saves over a tenth of the time.
target_compile_options(rm_options INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")
# Shipped programs name their sources as the tree does, and not the folder of the machine that built them: relative to the
# build folder where ccache rewrites it, absolute elsewhere.
file(RELATIVE_PATH rm_sources "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
if(NOT RM_CCACHE)
  set(rm_sources "${PROJECT_SOURCE_DIR}")
endif()
target_compile_options(rm_options INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-fmacro-prefix-map=${rm_sources}/=>")
# Outside release builds, buffers hold NaNs when they are fresh and when they are released.
target_compile_definitions(rm_options INTERFACE $<$<CONFIG:Dev>:RM_POISON=1>)
if(RM_SANITIZE STREQUAL "address")
  # RM_TEST_CODE: UBSan checks the product, not GoogleTest's macros.
  target_compile_options(rm_options INTERFACE
    -fsanitize=address $<$<NOT:$<BOOL:$<TARGET_PROPERTY:RM_TEST_CODE>>>:-fsanitize=undefined>
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rm_options INTERFACE -fsanitize=address,undefined)
elseif(RM_SANITIZE STREQUAL "fuzz")
  target_compile_options(rm_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                                              -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rm_options INTERFACE -fsanitize=address,undefined)
elseif(RM_SANITIZE STREQUAL "thread")
  target_compile_options(rm_options INTERFACE -fsanitize=thread "$<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>")
  target_link_options(rm_options INTERFACE -fsanitize=thread)
endif()

# rm_batches(NAME SOURCES): with RM_UNITY, replaces SOURCES by files that include them (batches.py).
# Generated sources stay as they are.
function(rm_batches name sources)
  if(NOT RM_UNITY)
    return()
  endif()
  set(apart "${${sources}}")
  list(FILTER apart INCLUDE REGEX "^/")
  set(together "${${sources}}")
  list(FILTER together EXCLUDE REGEX "^/")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  execute_process(
    COMMAND "${rm_python}" "${PROJECT_SOURCE_DIR}/cmake/batches.py" "${PROJECT_SOURCE_DIR}" "${folder}"
            "${CMAKE_CURRENT_BINARY_DIR}/batches" ${name} ${together}
    OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  foreach(source ${together})
    # A changed source may belong to another batch.
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  endforeach()
  set(${sources} ${batches} ${apart} PARENT_SCOPE)
endfunction()

# rm_library(name [SINGLY] SOURCES a.cc ... [USES rm::base ...] [PRIVATE_USES x ...]) makes rm_name and rm::name.
# USES are its allowed arrows; tests/layering checks them against the table of docs/architecture.md. SINGLY: no
# batches, because its sources are large or have flags of their own.
function(rm_library name)
  cmake_parse_arguments(arg "SINGLY" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  if(NOT arg_SINGLY)
    rm_batches(${name} arg_SOURCES)
  endif()
  add_library(rm_${name} STATIC ${arg_SOURCES})
  add_library(rm::${name} ALIAS rm_${name})
  target_link_libraries(rm_${name} PUBLIC rm_options ${arg_USES} PRIVATE ${arg_PRIVATE_USES})
endfunction()

# rm_program(output-name SOURCES ... USES ...): an executable in bin/.
function(rm_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  rm_batches(${name} arg_SOURCES)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE rm_options ${arg_USES})
endfunction()

add_custom_target(rm_thread_tests)

# A sanitizer multiplies a program's budget of CPU seconds and its time limit by this.
if(RM_SANITIZE)
  set(rm_slowdown 4)
else()
  set(rm_slowdown 1)
endif()

# rm_test_code(name computes): how test code is compiled. It is compiled once and run once: optimising it takes longer
# than it saves, unless it computes for long itself. With RM_UNITY it takes the large headers that nearly every test
# includes from rm_test_main, which compiled them once.
function(rm_test_code name computes)
  set(optimised ${computes})
  if(RM_SANITIZE)
    set(optimised NO)
  endif()
  if(optimised OR NOT CMAKE_BUILD_TYPE STREQUAL "Dev")
    return()
  endif()
  target_compile_options(${name} PRIVATE -O0)
  if(RM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # ccache asks for the first option; gRPC brings the other, and all must agree.
    target_compile_options(${name} PRIVATE -fpch-preprocess -pthread)
    if(name STREQUAL "rm_test_main")
      target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
    else()
      target_precompile_headers(${name} REUSE_FROM rm_test_main)
    endif()
  endif()
endfunction()

set(RM_SHARD "" CACHE STRING "I/N: build the I-th of N parts (from 0) of the test programs; label the others `elsewhere`")

# rm_in_shard(kind out): whether the next program of this kind belongs to RM_SHARD. Each kind is dealt in turn, so
# that the parts take about as long.
function(rm_in_shard kind out)
  set(${out} YES PARENT_SCOPE)
  if(NOT RM_SHARD MATCHES "^([0-9]+)/([0-9]+)$")
    return()
  endif()
  set(shard ${CMAKE_MATCH_1})
  set(num_shards ${CMAKE_MATCH_2})
  set_property(GLOBAL APPEND PROPERTY rm_dealt_${kind} "-")
  get_property(dealt GLOBAL PROPERTY rm_dealt_${kind})
  list(LENGTH dealt number)
  math(EXPR part "${number} % ${num_shards}")
  if(NOT part EQUAL shard)
    set(${out} NO PARENT_SCOPE)
  endif()
endfunction()

# rm_test(name SOURCES ... USES ... [CPU_SECONDS n] [TIMEOUT seconds] [RACES] [WAITS] [COMPUTES] [LABELS ...]):
# a GoogleTest program, one CTest entry per program. CPU_SECONDS (default 60) is its budget without
# a sanitizer: the program fails far beyond it (tests/support/test_main.cc), and those with the
# largest stated budgets start first. RACES: only for the thread sanitizer. WAITS: it sleeps more
# than half of its time. CTest's slots are half cores; such a program takes one, any other two. COMPUTES: its own
# code takes a large part of its CPU seconds, so that optimising it pays.
function(rm_test name)
  cmake_parse_arguments(arg "RACES;WAITS;COMPUTES" "TIMEOUT;CPU_SECONDS" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  if(arg_RACES)
    if(NOT RM_SANITIZE STREQUAL "thread")
      return()
    endif()
    list(APPEND arg_LABELS threads)
  endif()
  rm_batches(${name} arg_SOURCES)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE rm_options ${arg_USES} GTest::gtest GTest::gmock rm_test_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests"
                                           RM_TEST_CODE ON)
  if(RM_SANITIZE)
    target_compile_definitions(${name} PRIVATE RM_SANITIZED)
  endif()
  rm_test_code(${name} ${arg_COMPUTES})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(cost ${arg_CPU_SECONDS})
  if(NOT arg_CPU_SECONDS)
    set(arg_CPU_SECONDS 60)
    set(cost 10)  # 60 is an unmeasured bound; most take a few
  endif()
  set(kind usual)
  if(cost GREATER 10)
    set(kind long)
  endif()
  rm_in_shard(${kind} is_here)
  if(NOT is_here)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    list(APPEND arg_LABELS elsewhere)
  endif()
  set(slots 2)
  if(arg_WAITS)
    set(slots 1)
    set(cost 200)  # starts early: others compute meanwhile
  endif()
  math(EXPR budget "${arg_CPU_SECONDS} * ${rm_slowdown}")
  math(EXPR timeout "${arg_TIMEOUT} * ${rm_slowdown}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS}" COST ${cost}
                                          PROCESSORS ${slots}
                                          ENVIRONMENT "RM_CPU_SECONDS=${budget}")
  # `threads` marks programs for the thread sanitizer, which builds and runs only these.
  if("threads" IN_LIST arg_LABELS AND is_here)
    add_dependencies(rm_thread_tests ${name})
  endif()
endfunction()
