// To be called after the last of ISA-L's CRCs in a row.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rpcrdma::wire {

// ISA-L's AVX-512 routines end without VZEROUPPER (seen in version 2.30), and then the next SSE
// instruction, wherever in the program it stands, waits some 140 ns: ten times what the CRC of a
// short packet takes.
#if defined(__x86_64__)
[[gnu::target("avx")]] inline void zero_upper() {
  _mm256_zeroupper();
}
inline void end_isal() {
  if (__builtin_cpu_supports("avx")) zero_upper();
}
#else
inline void end_isal() {}
#endif

}  // namespace rpcrdma::wire
