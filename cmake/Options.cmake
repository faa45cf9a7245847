# Build options, and the flags of all targets of the project. As part of another project
# (add_subdirectory, FetchContent) only the libraries are built, unless that project asks for more.
option(RPCRDMA_TESTS "Build the tests (GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_BENCH "Build the benchmarks (Google Benchmark, libtirpc)" OFF)
option(RPCRDMA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(RPCRDMA_CLI "Build the command rpcrdma" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_LIVE "Capture from interfaces (libpcap)" ON)
option(RPCRDMA_VERBS "Support RDMA devices through rdma-core (librdmacm, libibverbs)" ON)
option(RPCRDMA_KERNEL "Trace Linux's own NFS/RDMA by BPF programs (libbpf, clang)" ON)
option(RPCRDMA_WIRESHARK "Build the Wireshark plugin (libwireshark-dev)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_METRICS "Serve metrics as OpenMetrics, for Prometheus (prometheus-cpp, libmicrohttpd, yaml-cpp, protozero)" ON)
option(RPCRDMA_FLEET "Publish and watch many hosts over NATS (libnats)" ON)
option(RPCRDMA_MPI "Build rpcrdma-load-mpi (MPI)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_GUI "Build the window rpcrdma-gui (Qt 6)" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_EXTCAP "Build the extcap program, with which Wireshark captures from endpoints" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_UNITY "Compile files in groups: twice as fast from scratch, slower after a change" OFF)
option(RPCRDMA_LTO "Link release programs with link-time optimization (g++)" ON)
option(RPCRDMA_TESTS_BY_PROGRAM "Let ctest run all cases of a test program in one process" OFF)
option(RPCRDMA_WERROR "Treat warnings as errors, as continuous integration does" OFF)
set(RPCRDMA_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
# Sanitized libraries are not meant for other programs.
if(PROJECT_IS_TOP_LEVEL AND NOT RPCRDMA_SANITIZE)
  set(installable ON)
else()
  set(installable OFF)
endif()
option(RPCRDMA_INSTALL_LIBRARY "Install the libraries, for other programs" ${installable})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Found for all directories: targets that link the endpoint's metrics link it too.
find_package(PkgConfig QUIET)
if(RPCRDMA_METRICS AND PKG_CONFIG_FOUND)
  find_package(prometheus-cpp QUIET COMPONENTS core)
  pkg_check_modules(microhttpd QUIET IMPORTED_TARGET GLOBAL libmicrohttpd)
  # TLS and basic authentication of the metrics port.
  pkg_check_modules(gnutls QUIET IMPORTED_TARGET GLOBAL gnutls)
  pkg_check_modules(libxcrypt QUIET IMPORTED_TARGET GLOBAL libxcrypt)
  pkg_check_modules(yamlcpp QUIET IMPORTED_TARGET GLOBAL yaml-cpp)
  if(prometheus-cpp_FOUND AND microhttpd_FOUND AND gnutls_FOUND AND libxcrypt_FOUND AND yamlcpp_FOUND)
    set(METRICS_FOUND ON)
  endif()
  # Headers only, without a CMake or pkg-config package in distributions.
  find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_builder.hpp)
  mark_as_advanced(PROTOZERO_INCLUDE_DIR)
  if(PROTOZERO_INCLUDE_DIR)
    set(PROTOZERO_FOUND ON)
  endif()
endif()

# The same for targets that link the bus of a fleet.
if(RPCRDMA_FLEET AND PKG_CONFIG_FOUND)
  pkg_check_modules(nats QUIET IMPORTED_TARGET GLOBAL libnats)
endif()

# The same for targets that link the verbs provider.
if(RPCRDMA_VERBS AND PKG_CONFIG_FOUND)
  pkg_check_modules(rdma_core QUIET IMPORTED_TARGET GLOBAL librdmacm libibverbs)
endif()

# Codecs are called across libraries for every packet, so the programs use link-time optimization.
# The many tests link the same objects without it, which is much faster.
if(RPCRDMA_LTO AND PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL Release AND
   CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(RPCRDMA_WHOLE_PROGRAM ON)
  # Objects that tests link too also contain machine code, which takes a third longer to compile.
  set(RPCRDMA_LTO_OBJECTS -fno-fat-lto-objects)
  if(RPCRDMA_TESTS OR RPCRDMA_INSTALL_LIBRARY)
    set(RPCRDMA_LTO_OBJECTS -ffat-lto-objects)
  endif()
  set(CMAKE_AR ${CMAKE_CXX_COMPILER_AR})
  set(CMAKE_RANLIB ${CMAKE_CXX_COMPILER_RANLIB})
endif()

# ./dev configures ccache so that clones in other directories hit, too.
find_program(RPCRDMA_CCACHE ccache)
if(RPCRDMA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RPCRDMA_CCACHE})
endif()

add_library(rpcrdma_flags INTERFACE)
target_compile_options(rpcrdma_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# GCC treats each file of a group as a header, and warns of types in anonymous namespaces there.
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
  # More than a hundred large programs: lld takes a fraction of the time.
  find_program(RPCRDMA_LLD ld.lld)
  if(RPCRDMA_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
  # Tests start programs often, and 1.2 million relocations take a seventh of the time.
  if(RPCRDMA_SANITIZE MATCHES address)
    add_link_options(-no-pie)
  endif()
  # XDR functions are called through the type that libtirpc declares for all of them, not through
  # their own.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND RPCRDMA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=function)
  endif()
endif()
