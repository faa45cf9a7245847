# Hardening options for the release programs, which run under sudo on packets from anybody.
# Libraries and programs link rpcrdma_hardening; tests, which are not optimized, do not. Sanitizers
# find more by themselves, and a debug build is for the debugger.
option(RPCRDMA_HARDENING "Harden the release programs against memory corruption" ON)
add_library(rpcrdma_hardening INTERFACE)
if(NOT RPCRDMA_HARDENING OR RPCRDMA_SANITIZE OR NOT CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo)$")
  return()
endif()
set(RPCRDMA_HARDENED ON)

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# With link-time optimization, code is generated when the program is linked: the linker needs these
# flags too.
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
  string(MAKE_C_IDENTIFIER "RPCRDMA_HAS${flag}" supported)
  check_cxx_compiler_flag(${flag} ${supported})
  if(${supported})
    target_compile_options(rpcrdma_hardening INTERFACE ${flag})
    target_link_options(rpcrdma_hardening INTERFACE ${flag})
  endif()
endforeach()

# A distribution's compiler may define another level, and redefining it would be an error.
foreach(level 3 2)
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
  check_cxx_source_compiles("
    #include <cstring>
    #if !defined __USE_FORTIFY_LEVEL || __USE_FORTIFY_LEVEL != ${level}
    #error the C library does not know this level
    #endif
    int main() {}" RPCRDMA_HAS_FORTIFY_${level})
  unset(CMAKE_REQUIRED_FLAGS)
  if(RPCRDMA_HAS_FORTIFY_${level})
    target_compile_options(rpcrdma_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
    break()
  endif()
endforeach()

# shstk: the linker marks a program for the shadow stack only if all objects are marked, and
# Debian's start files are not, though their calls and returns match. No such option for IBT: the
# start files have no landing pads, so the mark would be false. It appears automatically where they
# have them.
foreach(word relro now noexecstack shstk)
  check_linker_flag(CXX "-Wl,-z,${word}" RPCRDMA_HAS_Z_${word})
  if(RPCRDMA_HAS_Z_${word})
    target_link_options(rpcrdma_hardening INTERFACE "-Wl,-z,${word}")
  endif()
endforeach()
