#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/load/choice.h>

namespace rpcrdma::load {

namespace {

std::vector<std::string_view> members_of(std::string_view list) {
  std::vector<std::string_view> members;
  for (std::size_t comma = 0; (comma = list.find(',')) != std::string_view::npos;) {
    members.push_back(list.substr(0, comma));
    list.remove_prefix(comma + 1);
  }
  members.push_back(list);
  return members;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text == "0") return 0;
  return base::parse_size(text);
}

}  // namespace

fabric::Expected<Sizes> Sizes::parse(std::string_view text, std::uint32_t most) {
  Sizes sizes;
  for (const std::string_view member : members_of(text)) {
    const std::size_t dash = member.find('-');
    const auto first = parse_size(member.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_size(member.substr(dash + 1));
    if (!first || !last) {
      return fabric::fail(
          fabric::Errc::kBadArgument,
          fmt::format("\"{}\" is not a size; use bytes, or forms such as 4k, 1Mi, 512-64k",
                      member));
    }
    if (*first > *last) {
      return fabric::fail(fabric::Errc::kBadArgument,
                          fmt::format("\"{}\" ends before it begins", member));
    }
    if (*last > UINT32_MAX) {
      return fabric::fail(fabric::Errc::kBadArgument,
                          fmt::format("\"{}\" exceeds the maximum of {} bytes", member, most));
    }
    sizes.ranges_.push_back(
        {static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)});
  }
  return sizes;
}

std::uint32_t Sizes::pick(soft::Random& random) const {
  const Range& r = ranges_[random.below(ranges_.size())];
  return static_cast<std::uint32_t>(r.first + random.below(std::uint64_t{r.last} - r.first + 1));
}

std::uint32_t Sizes::largest() const {
  return std::max_element(ranges_.begin(), ranges_.end(),
                          [](const Range& a, const Range& b) { return a.last < b.last; })
      ->last;
}

fabric::Expected<Mix> Mix::parse(std::string_view text, const Known& known) {
  constexpr std::uint32_t kMostWeight = 1'000'000;
  Mix mix;
  std::uint64_t sum = 0;
  for (const std::string_view member : members_of(text)) {
    const std::size_t colon = member.find(':');
    const std::string_view name = member.substr(0, colon);
    const auto choice = known(name);
    if (!choice) {
      return fabric::fail(fabric::Errc::kBadArgument, fmt::format("\"{}\" is unknown", name));
    }
    if (mix.has(*choice)) {
      return fabric::fail(fabric::Errc::kBadArgument, fmt::format("\"{}\" is given twice", name));
    }
    const auto weight = colon == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                        : base::parse_u32(member.substr(colon + 1));
    if (!weight || *weight == 0 || *weight > kMostWeight) {
      return fabric::fail(
          fabric::Errc::kBadArgument,
          fmt::format("\"{}\": a weight is a whole number from 1 to {}", member, kMostWeight));
    }
    sum += *weight;
    mix.members_.push_back({*choice, sum});
  }
  return mix;
}

std::uint32_t Mix::pick(soft::Random& random) const {
  const std::uint64_t drawn = random.below(members_.back().up_to);
  return std::find_if(members_.begin(), members_.end(),
                      [&](const Member& m) { return drawn < m.up_to; })
      ->choice;
}

bool Mix::has(std::uint32_t choice) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.choice == choice; });
}

}  // namespace rpcrdma::load
