# What can be switched, and the flags that every target of the project is built with. As part of another
# project (add_subdirectory, FetchContent) it is its libraries alone, unless that asks for more.
option(RPCRDMA_TESTS "Build the tests (GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_BENCH "Build the benchmarks (Google Benchmark, libtirpc)" OFF)
option(RPCRDMA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(RPCRDMA_CLI "Build the command rpcrdma" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_LIVE "Capture from interfaces (libpcap)" ON)
option(RPCRDMA_VERBS "RDMA devices by rdma-core (librdmacm, libibverbs)" ON)
option(RPCRDMA_WIRESHARK "The plugin for Wireshark (libwireshark-dev)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_METRICS "Serve metrics as OpenMetrics, for Prometheus (prometheus-cpp, civetweb)" ON)
option(RPCRDMA_GUI "Build the window rpcrdma-gui (Qt 6)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_EXTCAP "Build the program by which Wireshark captures from endpoints" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_UNITY "Compile files in groups: half the time from scratch, more after a change" OFF)
option(RPCRDMA_LTO "Optimize release programs as a whole when they are linked (g++)" ON)
option(RPCRDMA_TESTS_BY_PROGRAM "Let ctest run a test program's cases in one process" OFF)
option(RPCRDMA_WERROR "Treat warnings as errors, as continuous integration does" OFF)
set(RPCRDMA_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
# Sanitized libraries are not for others.
if(PROJECT_IS_TOP_LEVEL AND NOT RPCRDMA_SANITIZE)
  set(installable ON)
else()
  set(installable OFF)
endif()
option(RPCRDMA_INSTALL_LIBRARY "Install the libraries, for programs of others" ${installable})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Found for all folders: whoever links the endpoint's metrics links it too.
if(RPCRDMA_METRICS)
  find_package(prometheus-cpp QUIET COMPONENTS core)
  # In this order: Debian's civetweb stops CMake where its program is not installed, which comes with
  # prometheus-cpp.
  if(prometheus-cpp_FOUND)
    find_package(civetweb QUIET)
  endif()
  if(prometheus-cpp_FOUND AND civetweb_FOUND)
    set(METRICS_FOUND ON)
  endif()
endif()

# The same goes for whoever links the provider of verbs.
find_package(PkgConfig QUIET)
if(RPCRDMA_VERBS AND PKG_CONFIG_FOUND)
  pkg_check_modules(rdma_core QUIET IMPORTED_TARGET GLOBAL librdmacm libibverbs)
endif()

# Codecs are called across folders for every packet, so the programs are optimized as a whole. The
# tests link the same objects as they are: that is much quicker, and there are many of them.
if(RPCRDMA_LTO AND PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL Release AND
   CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(RPCRDMA_WHOLE_PROGRAM ON)
  # Objects that others link too hold machine code as well, which takes a third longer to compile.
  set(RPCRDMA_LTO_OBJECTS -fno-fat-lto-objects)
  if(RPCRDMA_TESTS OR RPCRDMA_INSTALL_LIBRARY)
    set(RPCRDMA_LTO_OBJECTS -ffat-lto-objects)
  endif()
  set(CMAKE_AR ${CMAKE_CXX_COMPILER_AR})
  set(CMAKE_RANLIB ${CMAKE_CXX_COMPILER_RANLIB})
endif()

# ./dev sets ccache up so that a clone in another folder hits, too.
find_program(RPCRDMA_CCACHE ccache)
if(RPCRDMA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RPCRDMA_CCACHE})
endif()

add_library(rpcrdma_flags INTERFACE)
target_compile_options(rpcrdma_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# GCC takes each file of a group for a header, in which types of anonymous namespaces would be a mistake.
if(RPCRDMA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(rpcrdma_flags INTERFACE -Wno-subobject-linkage)
endif()
if(RPCRDMA_WERROR)
  target_compile_options(rpcrdma_flags INTERFACE -Werror)
endif()
if(RPCRDMA_SANITIZE)
  add_compile_options(-fsanitize=${RPCRDMA_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RPCRDMA_SANITIZE})
  # More than a hundred programs, large ones: lld takes a fraction of the time.
  find_program(RPCRDMA_LLD ld.lld)
  if(RPCRDMA_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
  # Programs start often in tests, and 1.2 million relocations take a seventh of that.
  if(RPCRDMA_SANITIZE MATCHES address)
    add_link_options(-no-pie)
  endif()
  # Functions for XDR are called by the type that libtirpc declares for all of them, not by their own.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND RPCRDMA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
