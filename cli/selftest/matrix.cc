// Lists the cells of the test matrix, and selects those that match the words of --only.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include <rpcrdma/selftest/matrix.h>

namespace rpcrdma::selftest {

namespace {

constexpr protocol::Versions kOne{protocol::kVersionOne, protocol::kVersionOne};
constexpr protocol::Versions kBoth{protocol::kVersionOne, protocol::kVersionTwo};

// The older profiles exist for version 1 only.
constexpr std::array kCombinations{
    Combination{"v1", "v1", kOne, kOne, 1, Profile::kRfc8166},
    Combination{"v2", "v1", kBoth, kOne, 1, Profile::kRfc8166},
    Combination{"v1", "v2", kOne, kBoth, 1, Profile::kRfc8166},
    Combination{"v2", "v2", kBoth, kBoth, 2, Profile::kRfc8166},
    Combination{"v1", "v1", kOne, kOne, 1, Profile::kDraft01},
    Combination{"v2", "v1", kBoth, kOne, 1, Profile::kDraft01},
    Combination{"v1", "v2", kOne, kBoth, 1, Profile::kDraft01},
    Combination{"v1", "v1", kOne, kOne, 1, Profile::kRfc5666},
    Combination{"v2", "v1", kBoth, kOne, 1, Profile::kRfc5666},
    Combination{"v1", "v2", kOne, kBoth, 1, Profile::kRfc5666},
};

struct ProfileRow {
  const char* name;
  rules::Profile rules;
  bool reverse_inline_only;
};
constexpr std::array kProfiles{ProfileRow{"rfc8166", rules::Profile::k8166, false},
                               ProfileRow{"draft-01", rules::Profile::k8166, true},
                               ProfileRow{"rfc5666", rules::Profile::k5666, false}};
const ProfileRow& row(Profile profile) {
  return kProfiles[static_cast<std::size_t>(profile)];
}

constexpr std::array<const char*, 3> kDirections{"forward", "reverse", "both"};
constexpr std::array<const char*, 2> kLosses{"clean", "loss"};

// Credits of reverse Calls.
constexpr std::uint32_t kReverseCredits = 8;
// Segment size: small, so that long chunks have several.
constexpr std::uint32_t kMaxSegment = 16U << 10;

std::string versions_name(const Combination& c) {
  return fmt::format("{}-{}", c.client, c.server);
}

// One dimension of the matrix.
using Axis = std::vector<std::string>;
struct Axes {
  Axis versions, profiles, directions, losses, shapes;
};

Axes all_axes() {
  Axes all;
  for (const Combination& c : kCombinations) {
    const std::string name = versions_name(c);
    if (std::ranges::find(all.versions, name) == all.versions.end()) all.versions.push_back(name);
  }
  for (const ProfileRow& p : kProfiles) all.profiles.emplace_back(p.name);
  all.directions.assign(kDirections.begin(), kDirections.end());
  all.losses.assign(kLosses.begin(), kLosses.end());
  for (std::size_t i = 0; i < kShapes; ++i) {
    all.shapes.emplace_back(shape_name(static_cast<Shape>(i)));
  }
  return all;
}

bool contains(const Axis& axis, std::string_view word) {
  return std::ranges::find(axis, word) != axis.end();
}

// Returns whether the name is selected; without a selection, all are.
bool takes(const Axis& wanted, std::string_view name) {
  return wanted.empty() || contains(wanted, name);
}

}  // namespace

const char* profile_name(Profile profile) {
  return row(profile).name;
}
rules::Profile rules_of(Profile profile) {
  return row(profile).rules;
}
bool reverse_is_inline_only(Profile profile) {
  return row(profile).reverse_inline_only;
}

std::span<const Combination> combinations() {
  return kCombinations;
}

namespace {

// RFC 5666 has no private data: the Connection Configuration Protocol sets the thresholds.
template <typename Options>
void speak_profile(const Combination& combination, Options& options) {
  if (rules_of(combination.profile) != rules::Profile::k5666) return;
  options.profile = service::Profile::k5666;
  options.private_data = false;
  options.remote_invalidation = false;
}

}  // namespace

void apply(const Combination& combination, service::ClientOptions& options) {
  options.version.versions = combination.client_versions;
  options.max_segment = kMaxSegment;
  options.reverse.credits = kReverseCredits;
  options.reverse.chunks = !reverse_is_inline_only(combination.profile);
  speak_profile(combination, options);
}

void apply(const Combination& combination, service::ServerOptions& options) {
  options.version.versions = combination.server_versions;
  options.max_segment = kMaxSegment;
  options.reverse_credits = kReverseCredits;
  speak_profile(combination, options);
}

const char* direction_name(Direction direction) {
  return kDirections[static_cast<std::size_t>(direction)];
}

std::string cell_name(const Cell& cell) {
  const Combination& c = kCombinations[cell.combination];
  return fmt::format("{}.{}.{}.{}.{}", versions_name(c), profile_name(c.profile),
                     direction_name(cell.direction), kLosses[cell.lossy ? 1 : 0],
                     shape_name(cell.shape));
}

fabric::Expected<std::vector<Cell>> cells_of(std::span<const std::string> words) {
  const Axes all = all_axes();
  Axes wanted;
  for (const std::string& word : words) {
    if (word == "v1" || word == "v2") {
      for (const std::string& pair : all.versions) {
        if (pair.find(word) != std::string::npos) wanted.versions.push_back(pair);
      }
      continue;
    }
    Axis* axis = nullptr;
    for (Axis Axes::*const one :
         {&Axes::versions, &Axes::profiles, &Axes::directions, &Axes::losses, &Axes::shapes}) {
      if (contains(all.*one, word)) axis = &(wanted.*one);
    }
    if (axis == nullptr) {
      return fabric::fail(fabric::Errc::kBadArgument,
                          fmt::format("{}: valid words are {}", word, all_words()));
    }
    axis->push_back(word);
  }
  std::vector<Cell> cells;
  for (const bool lossy : {false, true}) {
    if (!takes(wanted.losses, kLosses[lossy ? 1 : 0])) continue;
    for (std::uint32_t c = 0; c < kCombinations.size(); ++c) {
      if (!takes(wanted.versions, versions_name(kCombinations[c])) ||
          !takes(wanted.profiles, profile_name(kCombinations[c].profile))) {
        continue;
      }
      for (std::size_t d = 0; d < kDirections.size(); ++d) {
        if (!takes(wanted.directions, kDirections[d])) continue;
        for (std::size_t s = 0; s < kShapes; ++s) {
          const auto shape = static_cast<Shape>(s);
          if (!takes(wanted.shapes, shape_name(shape))) continue;
          cells.push_back({c, static_cast<Direction>(d), lossy, shape});
        }
      }
    }
  }
  if (cells.empty()) return fabric::fail(fabric::Errc::kBadArgument, "there is no such cell");
  return cells;
}

std::string all_words() {
  const Axes all = all_axes();
  std::string text = "v1, v2";
  for (const Axis* const axis :
       {&all.versions, &all.profiles, &all.directions, &all.losses, &all.shapes}) {
    for (const std::string& word : *axis) text += ", " + word;
  }
  return text;
}

}  // namespace rpcrdma::selftest
