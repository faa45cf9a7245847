// Call end_isal() after the last of a series of ISA-L CRCs.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rpcrdma::wire {

// ISA-L's AVX-512 routines return without VZEROUPPER (seen in version 2.30). The next SSE
// instruction anywhere in the program then stalls for some 140 ns, ten times the cost of a short
// packet's CRC.
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
