# One target a folder: a target sees the headers of those it links and of no others, so an include
# against the direction of dependencies does not build.

# What most libraries include, compiled once for all of their kind where a build only serves tests. In
# the others each file shows that it includes what it needs.
function(rpcrdma_library_headers kind)
  if(TARGET rpcrdma_${kind}_headers)
    return()
  endif()
  find_package(fmt REQUIRED GLOBAL)
  find_package(tl-expected REQUIRED GLOBAL)
  set(empty ${CMAKE_BINARY_DIR}/rpcrdma_${kind}_headers.cc)
  file(CONFIGURE OUTPUT ${empty} CONTENT "\n")
  add_library(rpcrdma_${kind}_headers STATIC EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(rpcrdma_${kind}_headers PRIVATE rpcrdma_flags fmt::fmt tl::expected)
  target_compile_options(rpcrdma_${kind}_headers PRIVATE -pthread ${ARGN})
  target_precompile_headers(rpcrdma_${kind}_headers PRIVATE
    <algorithm> <array> <atomic> <deque> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h> <tl/expected.hpp>)
endfunction()

# rpcrdma_library(NAME [OWN_HEADERS] [GLUE] SOURCES ... LINK ... PRIVATE_LINK ...)
# The folder's public headers live in include/rpcrdma/NAME. OWN_HEADERS: it compiles others in advance.
# GLUE: no fuzzer reaches it, and little time is spent in it; sanitized, to optimize it takes longer
# than it runs.
function(rpcrdma_library name)
  cmake_parse_arguments(arg "OWN_HEADERS;GLUE" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(rpcrdma_${name} STATIC ${arg_SOURCES})
  add_library(rpcrdma::${name} ALIAS rpcrdma_${name})
  target_include_directories(rpcrdma_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
                                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(rpcrdma_${name} PUBLIC ${arg_LINK}
    PRIVATE rpcrdma_flags rpcrdma_hardening ${arg_PRIVATE_LINK})
  if(RPCRDMA_WHOLE_PROGRAM)
    target_compile_options(rpcrdma_${name} PRIVATE -flto=auto -ffat-lto-objects)
  endif()
  set(kind library)
  set(options)
  if(arg_GLUE AND RPCRDMA_SANITIZE)
    set(kind glue)
    set(options -O0)
  elseif(RPCRDMA_FUZZ)
    set(options -fsanitize=fuzzer-no-link)
  endif()
  target_compile_options(rpcrdma_${name} PRIVATE ${options})
  if(RPCRDMA_SANITIZE AND NOT arg_OWN_HEADERS)
    rpcrdma_library_headers(${kind} ${options})
    target_precompile_headers(rpcrdma_${name} REUSE_FROM rpcrdma_${kind}_headers)
    # What is defined for the headers has to be for who takes them, and the other way round: also for
    # who uses no fmt and no threads.
    target_compile_definitions(rpcrdma_${name} PRIVATE
      $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
    target_compile_options(rpcrdma_${name} PRIVATE -pthread)
  endif()
endfunction()

# What people run, and what tests it as it is shipped: all that stands under tests.
add_custom_target(programs)
add_custom_target(system_tests DEPENDS programs)

# rpcrdma_program(TARGET): one that people run, optimized as a whole and hardened.
function(rpcrdma_program target)
  add_dependencies(programs ${target})
  target_link_libraries(${target} PRIVATE rpcrdma_hardening)
  if(RPCRDMA_WHOLE_PROGRAM)
    target_compile_options(${target} PRIVATE -flto=auto -fno-fat-lto-objects)
    target_link_options(${target} PRIVATE -flto=auto -O3)
  endif()
  # Its own files define options and print; sanitized, to optimize them takes longer than they run.
  if(RPCRDMA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# rpcrdma_tool(TARGET): a program of the developers', which is linked quickly.
function(rpcrdma_tool target)
  if(RPCRDMA_WHOLE_PROGRAM)
    target_link_options(${target} PRIVATE -fno-lto)
  endif()
endfunction()

# GoogleTest's headers and what tests include most, compiled once for all tests. The program exists to
# hold them: what is compiled in advance serves those with its own options alone, and -fPIE is one.
function(rpcrdma_test_headers)
  if(TARGET rpcrdma_test_headers)
    return()
  endif()
  find_package(fmt REQUIRED GLOBAL)
  find_package(tl-expected REQUIRED GLOBAL)
  find_package(nlohmann_json REQUIRED GLOBAL)
  set(main ${CMAKE_BINARY_DIR}/rpcrdma_test_headers.cc)
  file(CONFIGURE OUTPUT ${main} CONTENT "int main() {}\n")
  add_executable(rpcrdma_test_headers EXCLUDE_FROM_ALL ${main})
  target_link_libraries(rpcrdma_test_headers PRIVATE GTest::gmock_main fmt::fmt tl::expected
    nlohmann_json::nlohmann_json rpcrdma_flags)
  target_compile_options(rpcrdma_test_headers PRIVATE -O0)
  target_precompile_headers(rpcrdma_test_headers PRIVATE
    <algorithm> <array> <atomic> <deque> <filesystem> <fstream> <functional> <map> <memory>
    <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map>
    <utility> <variant> <vector>
    <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <tl/expected.hpp>)
endfunction()

# rpcrdma_test(NAME [OPTIMIZED] [LIMITS] [SHARDS N] [COST N] SOURCES ... LINK ...): GoogleTest cases,
# each found by ctest on its own, or with RPCRDMA_TESTS_BY_PROGRAM all of a program, or of one of its N
# shards, as one. OPTIMIZED: the test's own work is much. COST: seconds that a shard takes sanitized;
# ctest starts the longest first, so that no processor is idle at the end. Those under tests have the
# label "system", and so have those with LIMITS: they measure what is allocated, with less traffic where
# sanitizers slow it down.
function(rpcrdma_test name)
  if(NOT RPCRDMA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "OPTIMIZED;LIMITS" "SHARDS;COST" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    RPCRDMA_TEST_CAPTURES="${CMAKE_SOURCE_DIR}/tests/captures")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock_main rpcrdma_flags)
  # What is tested is optimized; to optimize the tests takes longer than to run them.
  if(arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${name} PRIVATE -O0)
    rpcrdma_test_headers()
    target_precompile_headers(${name} REUSE_FROM rpcrdma_test_headers)
    # As the headers were compiled: also for tests that use no fmt.
    target_compile_definitions(${name} PRIVATE
      $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  endif()
  if(RPCRDMA_WHOLE_PROGRAM)
    target_link_options(${name} PRIVATE -fno-lto)
  endif()
  set(label unit)
  if(arg_LIMITS OR CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/tests/")
    set(label system)
    add_dependencies(system_tests ${name})
  endif()
  if(NOT RPCRDMA_TESTS_BY_PROGRAM)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS ${label})
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name})
    set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 900 LABELS ${label}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
    if(arg_COST)
      set_tests_properties(${name}.${shard} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
endfunction()

# rpcrdma_fuzzer(NAME SOURCES ... LINK ... CORPUS dir): a libFuzzer program; its corpus is in the repo.
function(rpcrdma_fuzzer name)
  if(NOT RPCRDMA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} rpcrdma_flags)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()

# rpcrdma_component(NAME STATE WHY): what this build holds, told at the end of configuring.
function(rpcrdma_component name state)
  set_property(GLOBAL APPEND PROPERTY RPCRDMA_COMPONENTS "${name}: ${state}")
endfunction()

function(rpcrdma_print_components)
  get_property(components GLOBAL PROPERTY RPCRDMA_COMPONENTS)
  message(STATUS "Components:")
  foreach(component IN LISTS components)
    message(STATUS "  ${component}")
  endforeach()
endfunction()
