// Runs a scene through the whole pipeline, as the command does with a capture.
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

// Analyzes a capture or recording.
[[nodiscard]] Outcome run_file(const Bytes& file, rules::Profile profile);

[[nodiscard]] Outcome run(const Scene& scene, rules::Profile profile);

// Analyzes the same scene as its endpoint on `side` would record it.
[[nodiscard]] Outcome run_recorded(const Scene& scene, rules::Profile profile, Side side,
                                   bool sees_peer_operations);

// Analyzes the same scene as Linux's tracepoints on `side` would show it.
[[nodiscard]] Outcome run_tracepoints(const Scene& scene, rules::Profile profile, Side side);

}  // namespace rpcrdma::scenes
