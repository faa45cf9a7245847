// How much traffic a test makes whose subject is what traffic may cost.
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

// `count` in a build without sanitizers, where limits are what is tested. A sanitizer looks for
// other faults, and slows each packet down: it gets an eighth, but `least` where a table has to be
// full for all of the code to run.
constexpr std::uint32_t many(std::uint32_t count, std::uint32_t least = 0) {
  return kSanitized ? std::max(count / 8, std::min(count, least)) : count;
}

}  // namespace rpcrdma::report::testing
