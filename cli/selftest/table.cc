// The matrix of a self-test as text: a row per direction and network, a column per shape of Call.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/selftest/table.h>

namespace rpcrdma::selftest {

namespace {

using Json = nlohmann::ordered_json;

// Column titles, in two lines.
constexpr std::array<std::pair<const char*, const char*>, kShapes> kHeads{{{"", "short"},
                                                                           {"long", "Call"},
                                                                           {"long", "Reply"},
                                                                           {"", "Read"},
                                                                           {"", "Write"},
                                                                           {"seve-", "ral"},
                                                                           {"odd", "bytes"},
                                                                           {"zero", "bytes"},
                                                                           {"thre-", "shold"},
                                                                           {"one", "over"},
                                                                           {"one", "way"}}};

const char* mark(const Done& cell) {
  const CellResult& r = cell.result;
  if (!cell.passed()) return "FAIL";
  if (r.refused == 0) return "ok";
  return r.forward + r.reverse == 0 ? "-" : "ok-";
}

std::string line_name(const Cell& cell) {
  return fmt::format("  {:<8} {:<8}", direction_name(cell.direction), cell.lossy ? "1 % loss" : "");
}

bool same_line(const Cell& a, const Cell& b) {
  return a.combination == b.combination && a.direction == b.direction && a.lossy == b.lossy;
}

void add_matrix(std::string& out, std::vector<Done> cells) {
  const auto to = std::back_inserter(out);
  std::ranges::stable_sort(cells, {}, [](const Done& d) {
    return std::tuple(d.cell.combination, d.cell.direction, d.cell.lossy, d.cell.shape);
  });
  for (const auto half : {&std::pair<const char*, const char*>::first,
                          &std::pair<const char*, const char*>::second}) {
    fmt::format_to(to, "{:<19}", "");
    for (const auto& head : kHeads) fmt::format_to(to, "{:>6}", head.*half);
    out += '\n';
  }
  for (auto at = cells.begin(); at != cells.end();) {
    const Combination& c = combinations()[at->cell.combination];
    if (at == cells.begin() || std::prev(at)->cell.combination != at->cell.combination) {
      fmt::format_to(to, "client {}, server {}, {}: version {}\n", c.client, c.server,
                     profile_name(c.profile), c.version);
    }
    std::array<const char*, kShapes> marks;
    marks.fill("");
    const Cell& first = at->cell;
    out += line_name(first);
    for (; at != cells.end() && same_line(at->cell, first); ++at) {
      marks[static_cast<std::size_t>(at->cell.shape)] = mark(*at);
    }
    for (const char* const text : marks) fmt::format_to(to, "{:>6}", text);
    out.resize(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
}

struct Sums {
  std::uint64_t passed = 0, calls = 0, refused = 0, lost = 0, lossy = 0, lucky = 0;
  fabric::Time elapsed = 0;
};
Sums sums_of(const std::vector<Done>& cells) {
  Sums sums;
  for (const Done& d : cells) {
    sums.passed += d.passed() ? 1 : 0;
    sums.calls += d.result.forward + d.result.reverse;
    sums.refused += d.result.refused;
    sums.lost += d.result.lost;
    sums.lossy += d.cell.lossy ? 1 : 0;
    sums.lucky += d.cell.lossy && d.result.lost == 0 ? 1 : 0;
    sums.elapsed += d.elapsed;
  }
  return sums;
}

}  // namespace

std::string to_text(const Setup& setup, const std::vector<Done>& cells) {
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{} ({}), to {}\n\n", setup.from, setup.provider, setup.server);
  add_matrix(out, cells);
  const Sums sums = sums_of(cells);
  if (sums.refused != 0) {
    out += "-: not sent, since draft-01 allows no chunks in reverse Calls; ok-: some not sent\n";
  }
  out += '\n';
  for (const Done& d : cells) {
    for (const std::string& failure : d.result.failures) {
      fmt::format_to(to, "FAIL {}: {}\n", cell_name(d.cell), failure);
    }
  }
  fmt::format_to(to, "{} cells in {}: {} passed, {} failed\n", cells.size(),
                 base::format_duration(sums.elapsed), sums.passed, cells.size() - sums.passed);
  fmt::format_to(to, "{} Calls with all bytes correct, {} refused\n", sums.calls, sums.refused);
  if (sums.lossy != 0) {
    fmt::format_to(to,
                   "{} packets dropped on purpose in {} cells; in {} of them none was dropped\n",
                   sums.lost, sums.lossy, sums.lucky);
  }
  return out;
}

std::string to_json(const Setup& setup, const std::vector<Done>& cells) {
  const Sums sums = sums_of(cells);
  Json json{{"schema", "rpcrdma-selftest-1"},
            {"server", setup.server},
            {"from", setup.from},
            {"provider", setup.provider},
            {"passed", sums.passed},
            {"failed", cells.size() - sums.passed},
            {"cells", Json::array()}};
  for (const Done& d : cells) {
    const Combination& c = combinations()[d.cell.combination];
    json["cells"].push_back({{"name", cell_name(d.cell)},
                             {"client", c.client},
                             {"server", c.server},
                             {"profile", profile_name(c.profile)},
                             {"version", c.version},
                             {"direction", direction_name(d.cell.direction)},
                             {"loss", d.cell.lossy},
                             {"shape", shape_name(d.cell.shape)},
                             {"passed", d.passed()},
                             {"calls", d.result.forward},
                             {"reverse_calls", d.result.reverse},
                             {"refused", d.result.refused},
                             {"lost_packets", d.result.lost},
                             {"seconds", static_cast<double>(d.elapsed) / 1e9},
                             {"failures", d.result.failures}});
  }
  return json.dump();
}

}  // namespace rpcrdma::selftest
