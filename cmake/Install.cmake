# Rules for `cmake --install`, in components: runtime (the command), gui, mpi (rpcrdma-load-mpi),
# wireshark (plugin and extcap program), development (libraries, headers, CMake and pkg-config packages), doc.
# docs/library.md and docs/packaging.md describe them.
include(GNUInstallDirs)

# rpcrdma_installed_links(OUT ITEM...): returns the items of a LINK list for an installed library.
# Headers that only our own sources include are not required of users of the library.
function(rpcrdma_installed_links out)
  set(links)
  foreach(item IN LISTS ARGN)
    if(item MATCHES "^(rpcrdma_flags|rpcrdma_hardening|tsl::robin_map|nlohmann_json::nlohmann_json)$")
      list(APPEND links $<BUILD_INTERFACE:${item}>)
    elseif(item MATCHES "/lib([^/]+)\\.(so|a)$")
      list(APPEND links $<BUILD_INTERFACE:${item}> $<INSTALL_INTERFACE:${CMAKE_MATCH_1}>)
    else()
      list(APPEND links ${item})
    endif()
  endforeach()
  set(${out} ${links} PARENT_SCOPE)
endfunction()

# rpcrdma_install_library(NAME): installs rpcrdma_NAME as rpcrdma::NAME, if it belongs to engine or
# analyzer.
function(rpcrdma_install_library name)
  if(NOT RPCRDMA_INSTALL_LIBRARY
     OR NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(engine|analyzer)(/|$)")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY RPCRDMA_LIBRARIES ${name})
  set_target_properties(rpcrdma_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS rpcrdma_${name} EXPORT rpcrdma
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  endif()
endfunction()

# rpcrdma_link_of(OUT ITEM): returns an item of INTERFACE_LINK_LIBRARIES without CMake's wrapping;
# empty if an installed library does not link it.
function(rpcrdma_link_of out item)
  if(item MATCHES "^\\$<LINK_ONLY:(.*)>$")
    set(item ${CMAKE_MATCH_1})
  endif()
  if(item MATCHES "^\\$<\\$<BOOL:([^>]*)>:(.*)>$")
    set(item ${CMAKE_MATCH_2})
    if(NOT "${CMAKE_MATCH_1}")
      set(item)
    endif()
  endif()
  if(item MATCHES "^\\$<BUILD_INTERFACE:")
    set(item)
  elseif(item MATCHES "^\\$<INSTALL_INTERFACE:(.*)>$")
    set(item ${CMAKE_MATCH_1})
  endif()
  set(${out} ${item} PARENT_SCOPE)
endfunction()

# rpcrdma_foreign(LINK): sets in the caller how users find a linked library: `package` for
# find_dependency(), or as PREFIX:MODULES for pkg_check_modules(); `requires` and `libs` for a .pc
# file.
function(rpcrdma_foreign link)
  set(package)
  set(requires)
  set(libs)
  if(link STREQUAL fmt::fmt)
    set(package fmt)
    set(requires fmt)
  elseif(link STREQUAL tl::expected)  # headers only, without a .pc file in distributions
    set(package tl-expected)
  elseif(link STREQUAL Threads::Threads)
    set(package Threads)
    set(libs -pthread)
  elseif(link STREQUAL nlohmann_json::nlohmann_json)
    set(package nlohmann_json)
    set(requires nlohmann_json)
  elseif(link STREQUAL PkgConfig::RE2)
    set(package RE2:re2)
    set(requires re2)
  elseif(link STREQUAL PkgConfig::TIRPC)
    set(package TIRPC:libtirpc)
    set(requires libtirpc)
  elseif(link STREQUAL PkgConfig::rdma_core)
    set(package rdma_core:librdmacm,libibverbs)
    set(requires librdmacm libibverbs)
  elseif(link STREQUAL PkgConfig::libbpf)
    set(package libbpf:libbpf)
    set(requires libbpf)
  elseif(link STREQUAL prometheus-cpp::core)
    set(package prometheus-cpp)
    set(requires prometheus-cpp-core)
  elseif(link STREQUAL PkgConfig::microhttpd)
    set(package microhttpd:libmicrohttpd)
    set(requires libmicrohttpd)
  elseif(link STREQUAL PkgConfig::gnutls)
    set(package gnutls:gnutls)
    set(requires gnutls)
  elseif(link STREQUAL PkgConfig::libxcrypt)
    set(package libxcrypt:libxcrypt)
    set(requires libxcrypt)
  elseif(link STREQUAL PkgConfig::yamlcpp)
    set(package yamlcpp:yaml-cpp)
    set(requires yaml-cpp)
  elseif(link STREQUAL PkgConfig::nats)
    set(package nats:libnats)
    set(requires libnats)
  elseif(link STREQUAL isal)
    set(requires libisal)
  elseif(link STREQUAL zstd)
    set(requires libzstd)
  elseif(link STREQUAL lzma)
    set(requires liblzma)
  elseif(link STREQUAL bz2)  # without a .pc file in distributions
    set(libs -lbz2)
  elseif(link STREQUAL lz4)
    set(requires liblz4)
  elseif(link STREQUAL pcap)
    set(requires libpcap)
  else()
    message(FATAL_ERROR "cmake/Install.cmake: add how users of the libraries find ${link}")
  endif()
  set(package ${package} PARENT_SCOPE)
  set(requires ${requires} PARENT_SCOPE)
  set(libs ${libs} PARENT_SCOPE)
endfunction()

# rpcrdma_write_pc(NAME): writes the library's .pc file, and sets the global property
# RPCRDMA_NEEDS_NAME to the packages that it and its dependencies need.
function(rpcrdma_write_pc name)
  get_property(written GLOBAL PROPERTY RPCRDMA_NEEDS_${name} SET)
  if(written)
    return()
  endif()
  get_target_property(items rpcrdma_${name} INTERFACE_LINK_LIBRARIES)
  set(pc_requires)
  set(pc_libs)
  set(needs)
  foreach(item IN LISTS items)
    rpcrdma_link_of(link "${item}")
    if(link MATCHES "^rpcrdma::(.+)$")
      set(other ${CMAKE_MATCH_1})
      rpcrdma_write_pc(${other})
      get_property(needs_of_other GLOBAL PROPERTY RPCRDMA_NEEDS_${other})
      list(APPEND needs ${needs_of_other})
      string(REPLACE _ - other ${other})
      list(APPEND pc_requires rpcrdma-${other})
    elseif(link)
      rpcrdma_foreign(${link})
      list(APPEND pc_requires ${requires})
      list(APPEND pc_libs ${libs})
      list(APPEND needs ${package})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES pc_requires)
  list(REMOVE_DUPLICATES needs)
  set_property(GLOBAL PROPERTY RPCRDMA_NEEDS_${name} "${needs}")

  get_target_property(type rpcrdma_${name} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    list(PREPEND pc_libs -L\${libdir} -lrpcrdma_${name})
  endif()
  list(JOIN pc_requires " " pc_requires)
  list(JOIN pc_libs " " pc_libs)
  string(REPLACE _ - pc_name rpcrdma-${name})
  # Relative to the .pc file's location, so that `cmake --install --prefix` changes it too.
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in
    ${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc @ONLY)
endfunction()

# rpcrdma_install_packages(): installs the CMake and pkg-config packages, after all libraries are
# defined.
function(rpcrdma_install_packages)
  get_property(libraries GLOBAL PROPERTY RPCRDMA_LIBRARIES)
  if(NOT libraries)
    return()
  endif()
  set(needs_of_components)
  foreach(name IN LISTS libraries)
    rpcrdma_write_pc(${name})
    get_property(needs GLOBAL PROPERTY RPCRDMA_NEEDS_${name})
    string(APPEND needs_of_components "set(rpcrdma_needs_${name} ${needs})\n")
  endforeach()
  string(REPLACE ";" " " needs_of_components "${needs_of_components}")
  string(REPLACE ";" " " components "${libraries}")

  include(CMakePackageConfigHelpers)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/rpcrdma)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rpcrdmaConfig.cmake.in
    ${PROJECT_BINARY_DIR}/rpcrdmaConfig.cmake INSTALL_DESTINATION ${folder})
  # Before 1.0 a minor version may change the API.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/rpcrdmaConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(EXPORT rpcrdma NAMESPACE rpcrdma:: FILE rpcrdmaTargets.cmake
    DESTINATION ${folder} COMPONENT development)
  install(FILES ${PROJECT_BINARY_DIR}/rpcrdmaConfig.cmake
    ${PROJECT_BINARY_DIR}/rpcrdmaConfigVersion.cmake DESTINATION ${folder} COMPONENT development)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/pkgconfig/
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

  # GCC's intermediate code works only with the same version of GCC, and clang ignores it.
  if(RPCRDMA_WHOLE_PROGRAM)
    install(CODE "
      file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/librpcrdma_*.a\")
      foreach(archive IN LISTS archives)
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu.lto_*
          --remove-section=.gnu.debuglto_* \"\${archive}\" COMMAND_ERROR_IS_FATAL ANY)
      endforeach()" COMPONENT development)
  endif()
endfunction()

# rpcrdma_install_for_wireshark(TARGET FOLDER SYSTEM CHOSEN): installs a target into SYSTEM, where
# the system's Wireshark looks; with another prefix, into FOLDER of that prefix; into CHOSEN, if it
# is not empty.
function(rpcrdma_install_for_wireshark target folder system chosen)
  # SYSTEM used to be the default of CHOSEN, and is still in the caches of old builds.
  if(chosen AND NOT chosen STREQUAL system)
    set(script "set(folder \"${chosen}\")")
  else()
    set(script "set(folder \"\${CMAKE_INSTALL_PREFIX}/${folder}\")")
    if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$")
      string(APPEND script "
        if(CMAKE_INSTALL_PREFIX STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
          set(folder \"${system}\")
        endif()")
    endif()
  endif()
  # install(TARGETS) does not know the prefix that `cmake --install --prefix` is given.
  install(CODE "
    ${script}
    file(INSTALL DESTINATION \"\${folder}\" TYPE PROGRAM FILES \"$<TARGET_FILE:${target}>\")
    if(CMAKE_INSTALL_DO_STRIP)
      execute_process(COMMAND \"${CMAKE_STRIP}\"
        \"\$ENV{DESTDIR}\${folder}/$<TARGET_FILE_NAME:${target}>\")
    endif()" COMPONENT wireshark)
endfunction()
