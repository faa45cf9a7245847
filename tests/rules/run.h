// A scene through the whole pipeline, as the command takes a capture.
#pragma once

#include "scene.h"

#include <vector>

#include <rpcrdma/rules/finding.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::scenes {

inline constexpr std::int64_t kMillisecond = 1'000'000;  // ns
inline constexpr std::int64_t kSecond = 1000 * kMillisecond;

struct Outcome {
  std::vector<rules::Finding> findings;
  std::vector<rules::Inconclusive> inconclusive;
};

// A capture or recording.
[[nodiscard]] Outcome run_file(const Bytes& file, rules::Profile profile);

[[nodiscard]] Outcome run(const Scene& scene, rules::Profile profile);

// The same scene as one of its endpoints tells it, on `side`, in a recording.
[[nodiscard]] Outcome run_recorded(const Scene& scene, rules::Profile profile, Side side,
                                   bool sees_peer_operations);

}  // namespace rpcrdma::scenes
