#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/load/echo_requests.h>

namespace rpcrdma::load {

namespace {

namespace echo = service::echo;
using echo::Proc;

constexpr std::array<std::string_view, 6> kMix{"null",   "echo",      "sink",
                                               "source", "echo-bulk", "list"};
constexpr std::uint32_t kListItem = 1000;            // bytes, if the whole list has that many
constexpr std::uint32_t kMostListBytes = 1'000'000;  // of items without their counts
// Number of different contents: enough to notice a mix-up, few enough that their checksums can be
// cached.
constexpr std::uint32_t kSeeds = 8;

std::uint32_t most_of(Proc proc) {
  switch (proc) {
    case Proc::kEcho:
      return echo::kMaxEcho;
    case Proc::kList:
      return kMostListBytes;
    case Proc::kSink:
    case Proc::kSource:
    case Proc::kEchoBulk:
      return echo::kMaxBulk;
    case Proc::kNull:
    case Proc::kSleep:
    case Proc::kCount:
      break;
  }
  return UINT32_MAX;  // has no size
}

// Maximum size to name in an error message; for a single procedure, its own limit.
std::uint32_t most_of(const std::string& procedures, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), procedures);
  if (found == names.end()) return echo::kMaxBulk;
  return most_of(static_cast<Proc>(found - names.begin()));
}

// Replaces "mix" by its procedures, each with the weight of "mix", except those that the list
// names itself, with their own weight.
std::string expand_mix(std::string_view list) {
  std::vector<std::string_view> members;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    members.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto name_of = [](std::string_view member) { return member.substr(0, member.find(':')); };
  std::string expanded;
  const auto add = [&](std::string_view name, std::string_view weight) {
    expanded += fmt::format("{}{}{}", expanded.empty() ? "" : ",", name, weight);
  };
  for (const std::string_view member : members) {
    if (name_of(member) != "mix") {
      add(member, "");
      continue;
    }
    for (const std::string_view name : kMix) {
      if (std::ranges::find(members, name, name_of) == members.end()) {
        add(name, member.substr(3));
      }
    }
  }
  return expanded;
}

bool has(const Mix& mix, Proc proc) {
  return mix.has(static_cast<std::uint32_t>(proc));
}

}  // namespace

std::vector<std::string> echo_procedures() {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < echo::kProcedures; ++i) {
    std::string name = echo::proc_name(static_cast<Proc>(i));
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    names.push_back(std::move(name));
  }
  return names;
}

tl::expected<EchoRequests, RequestError> EchoRequests::parse(const std::string& procedures,
                                                             const std::string& sizes,
                                                             fabric::Time sleep) {
  const std::vector<std::string> names = echo_procedures();
  const auto known = [&](std::string_view name) -> std::optional<std::uint32_t> {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - names.begin());
  };
  auto mix = Mix::parse(expand_mix(procedures), known);
  if (!mix) return tl::unexpected(RequestError{false, mix.error().message});
  auto drawn = Sizes::parse(sizes, most_of(procedures, names));
  if (!drawn) return tl::unexpected(RequestError{true, drawn.error().message});
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const std::uint32_t most = most_of(static_cast<Proc>(i));
    if (procedures != names[i] || drawn->largest() <= most) continue;
    return tl::unexpected(RequestError{
        true, fmt::format("{}: the maximum for {} is {} bytes", sizes, names[i], most)});
  }
  const auto pause = std::clamp<fabric::Time>(sleep / fabric::kMicrosecond, 0, echo::kMaxSleep);
  return EchoRequests(std::move(*mix), std::move(*drawn), static_cast<std::uint32_t>(pause));
}

echo::Request EchoRequests::next(soft::Random& random) const {
  echo::Request r;
  r.proc = static_cast<Proc>(mix_.pick(random));
  r.seed = static_cast<std::uint32_t>(random.below(kSeeds));
  const std::uint32_t size = std::min(sizes_.pick(random), most_of(r.proc));
  if (r.proc == Proc::kSleep) {
    r.sleep = sleep_us_;
  } else if (r.proc == Proc::kList) {
    r.length = std::min(size, kListItem);
    r.count = r.length == 0 ? 0 : (size + r.length - 1) / r.length;
  } else if (r.proc != Proc::kNull && r.proc != Proc::kCount) {
    r.length = size;
  }
  return r;
}

std::uint32_t EchoRequests::longest() const {
  std::uint32_t most = 0;
  for (const Proc proc : {Proc::kEcho, Proc::kSink, Proc::kSource, Proc::kEchoBulk, Proc::kList}) {
    if (!has(mix_, proc)) continue;
    // The last item of a list may exceed the list's size.
    const std::uint32_t beyond = proc == Proc::kList ? kListItem : 0;
    most = std::max(most, std::min(sizes_.largest(), most_of(proc)) + beyond);
  }
  return most;
}

std::uint32_t EchoRequests::longest_result() const {
  if (!has(mix_, Proc::kSource) && !has(mix_, Proc::kEchoBulk)) return 0;
  return std::min(sizes_.largest(), echo::kMaxBulk);
}

}  // namespace rpcrdma::load
