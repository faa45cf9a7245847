// Scales the traffic of tests that limit the cost of traffic.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::report::testing {

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define RPCRDMA_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define RPCRDMA_THREAD_SANITIZER
#endif
#elif defined __SANITIZE_ADDRESS__
#define RPCRDMA_ADDRESS_SANITIZER
#elif defined __SANITIZE_THREAD__
#define RPCRDMA_THREAD_SANITIZER
#endif

#if defined RPCRDMA_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined RPCRDMA_ADDRESS_SANITIZER
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kThreadSanitizer;
#endif

// Returns `count` in a build without sanitizers, which tests the limits. Sanitizers look for other
// faults and slow down each packet, so they get an eighth of `count`, but at least `least`: the
// number that fills a table, if some code runs only when the table is full.
constexpr std::uint32_t many(std::uint32_t count, std::uint32_t least = 0) {
  return kSanitized ? std::max(count / 8, std::min(count, least)) : count;
}

}  // namespace rpcrdma::report::testing
