# rpcrdma_shipped(OUT): the programs and plugins that this build ships.
function(rpcrdma_shipped out)
  set(shipped)
  foreach(target rpcrdma rpcrdma-extcap rpcrdma-gui rpcrdma-kernel rpcrdma-load-mpi
                 rpcrdma-trace-dat rpcrdma_scope)
    if(TARGET ${target})
      list(APPEND shipped ${target})
    endif()
  endforeach()
  set(${out} ${shipped} PARENT_SCOPE)
endfunction()

# rpcrdma_add_sbom(): the target `sbom` writes the software bill of materials of what is shipped,
# rpcrdma-scope.cdx.json, into the build folder. It needs ninja, which records the headers, and dpkg.
function(rpcrdma_add_sbom)
  find_program(RPCRDMA_PYTHON python3)
  find_program(RPCRDMA_DPKG_QUERY dpkg-query)
  if(NOT RPCRDMA_PYTHON OR NOT RPCRDMA_DPKG_QUERY OR NOT CMAKE_GENERATOR STREQUAL Ninja)
    return()
  endif()
  rpcrdma_shipped(shipped)
  if(NOT shipped)
    return()
  endif()
  set(files)
  foreach(target IN LISTS shipped)
    list(APPEND files $<TARGET_FILE:${target}>)
  endforeach()
  add_custom_target(sbom
    COMMAND ${RPCRDMA_PYTHON} ${PROJECT_SOURCE_DIR}/packaging/sbom ${PROJECT_BINARY_DIR} ${files}
            > ${PROJECT_BINARY_DIR}/rpcrdma-scope.cdx.json
    DEPENDS ${shipped} VERBATIM)
endfunction()
