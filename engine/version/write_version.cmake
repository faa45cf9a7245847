# Writes the file OUT from version.cc.in: version VERSION, with the commit of the clone SOURCE by
# git's program GIT, or the one that `git archive` wrote into packaging/commit, or none.
set(commit)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} rev-parse --short=7 HEAD WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
else()
  file(STRINGS ${SOURCE}/packaging/commit archived REGEX "^[0-9a-f]+$")
  string(SUBSTRING "${archived}" 0 7 commit)
endif()
set(text ${VERSION})
if(commit)
  string(APPEND text " (${commit})")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.cc.in ${OUT} @ONLY)
file(TOUCH ${OUT})
