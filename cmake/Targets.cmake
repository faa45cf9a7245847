# One target per directory: a target sees only the headers of targets that it links, so an include
# against the direction of dependencies does not compile.

# rpcrdma_unity(TARGET BATCH): with RPCRDMA_UNITY, files are compiled in groups of this size, each
# of which reads a header once. Names must therefore differ between the files of a target, in
# anonymous namespaces too.
function(rpcrdma_unity target batch)
  if(RPCRDMA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# rpcrdma_library(NAME [GLUE] SOURCES ... LINK ... PRIVATE_LINK ...)
# The directory's public headers are in include/rpcrdma/NAME. GLUE: no fuzzer reaches it, and it
# uses little time; in a sanitized build, optimizing it takes longer than running it.
function(rpcrdma_library name)
  cmake_parse_arguments(arg "GLUE" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  # Another project builds only what it links.
  set(on_demand)
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT RPCRDMA_INSTALL_LIBRARY)
    set(on_demand EXCLUDE_FROM_ALL)
  endif()
  add_library(rpcrdma_${name} STATIC ${on_demand} ${arg_SOURCES})
  add_library(rpcrdma::${name} ALIAS rpcrdma_${name})
  target_compile_features(rpcrdma_${name} PUBLIC cxx_std_20)
  target_include_directories(rpcrdma_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  rpcrdma_installed_links(private rpcrdma_flags rpcrdma_hardening ${arg_PRIVATE_LINK})
  target_link_libraries(rpcrdma_${name} PUBLIC ${arg_LINK} PRIVATE ${private})
  rpcrdma_install_library(${name})
  if(RPCRDMA_WHOLE_PROGRAM)
    target_compile_options(rpcrdma_${name} PRIVATE -flto=auto ${RPCRDMA_LTO_OBJECTS})
  endif()
  rpcrdma_unity(rpcrdma_${name} 8)
  if(arg_GLUE AND RPCRDMA_SANITIZE)
    target_compile_options(rpcrdma_${name} PRIVATE -O0)
  elseif(RPCRDMA_FUZZ)
    target_compile_options(rpcrdma_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Programs for users, and the tests of the shipped programs: everything under tests/.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(programs)
  add_custom_target(system_tests DEPENDS programs)
endif()

# rpcrdma_program(TARGET): a program for users, with link-time optimization and hardening.
function(rpcrdma_program target)
  if(PROJECT_IS_TOP_LEVEL)
    add_dependencies(programs ${target})
  endif()
  target_link_libraries(${target} PRIVATE rpcrdma_hardening)
  rpcrdma_unity(${target} 8)
  if(RPCRDMA_WHOLE_PROGRAM)
    target_compile_options(${target} PRIVATE -flto=auto -fno-fat-lto-objects)
    target_link_options(${target} PRIVATE -flto=auto -O3)
  endif()
  # Its own files define options and print; in a sanitized build, optimizing them takes longer than
  # running them.
  if(RPCRDMA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# rpcrdma_tool(TARGET): a program for developers, linked quickly.
function(rpcrdma_tool target)
  if(RPCRDMA_WHOLE_PROGRAM)
    target_link_options(${target} PRIVATE -fno-lto)
  endif()
endfunction()

# rpcrdma_test(NAME [OPTIMIZED] [LIMITS] [SHARDS N] [COST N] SOURCES ... SUPPORT ... LINK ...): GoogleTest
# cases. ctest finds each case; with RPCRDMA_TESTS_BY_PROGRAM, it finds the whole program or each of
# its N shards. OPTIMIZED: the test itself computes a lot. COST: seconds that a shard takes when
# sanitized; ctest starts the longest first, so that no processor is idle at the end. Tests under
# tests/ have the label "system", and so have those with LIMITS: they measure memory, with less
# traffic under slow sanitizers.
function(rpcrdma_test name)
  if(NOT RPCRDMA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "OPTIMIZED;LIMITS" "SHARDS;COST" "SOURCES;SUPPORT;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  foreach(helper IN LISTS arg_SUPPORT)
    target_link_libraries(${name} PRIVATE rpcrdma_support_${helper})
  endforeach()
  target_compile_definitions(${name} PRIVATE
    RPCRDMA_TEST_CAPTURES="${PROJECT_SOURCE_DIR}/tests/captures")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock_main rpcrdma_flags)
  # The tested code is optimized; optimizing the tests takes longer than running them.
  if(arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  rpcrdma_unity(${name} 10)
  if(RPCRDMA_WHOLE_PROGRAM)
    target_link_options(${name} PRIVATE -fno-lto)
  endif()
  set(label unit)
  if(arg_LIMITS OR CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/")
    set(label system)
    if(PROJECT_IS_TOP_LEVEL)
      add_dependencies(system_tests ${name})
    endif()
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

# rpcrdma_fuzzer(NAME SOURCES ... LINK ... CORPUS dir): a libFuzzer program whose corpus is in the
# repository.
function(rpcrdma_fuzzer name)
  if(NOT RPCRDMA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LINK} rpcrdma_flags)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()

# rpcrdma_component(NAME STATE WHY): adds a line to the list of components at the end of
# configuring.
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
