#include "overlap.h"

#include "connection_join.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report {

namespace {

constexpr std::int64_t kJitterNs = 1'000'000;

// The time in which one report has packets of a connection.
struct Presence {
  std::size_t report = 0;
  const Connection* connection = nullptr;
  std::size_t side = 0;  // the receiver of the flow
};

bool share_time(const Connection& a, const Connection& b) {
  if (a.first_ns == b.first_ns && a.last_ns == b.last_ns) return true;
  const std::int64_t shared = std::min(a.last_ns, b.last_ns) - std::max(a.first_ns, b.first_ns);
  const std::int64_t shorter = std::min(a.last_ns - a.first_ns, b.last_ns - b.first_ns);
  return shared > 0 && (shared > kJitterNs || shared > shorter / 2);
}

bool same_connection(const Presence& a, const Presence& b) {
  return same_qps(*a.connection, *b.connection, a.side != b.side);
}

std::string end_name(const EndPoint& e) {
  return e.qpn    ? fmt::format("{} QP {:#x}", e.address, *e.qpn)
         : e.port ? fmt::format("{} port {}", e.address, *e.port)
                  : e.address;
}

class Overlaps {
 public:
  Overlaps(const std::vector<Report>& reports, const std::vector<std::string>& names)
      : reports_(reports), names_(names) {}

  std::string find() {
    collect();
    for (auto& [flow, all] : flows_) {
      std::sort(all.begin(), all.end(), [](const Presence& a, const Presence& b) {
        return std::tuple(a.connection->first_ns, a.report) <
               std::tuple(b.connection->first_ns, b.report);
      });
      if (std::string text = find(all); !text.empty()) return text;
    }
    return equal();
  }

 private:
  void collect() {
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      for (const Connection& c : reports_[i].connections) {
        // A report without times comes from no capture.
        if (c.first_ns == 0 && c.last_ns == 0) continue;
        for (std::size_t side = 0; side < 2; ++side) {
          if (!c.side[side].qpn && !c.side[side].port) continue;
          flows_[ConnectionJoin::flow(c, side)].push_back({i, &c, side});
        }
      }
    }
  }

  // `all`: one flow in the order of time. Compares each presence with the two that last longest, of
  // two reports: the time does not grow with the square of their number.
  std::string find(const std::vector<Presence>& all) {
    const Presence* longest = nullptr;
    const Presence* of_another = nullptr;
    for (const Presence& p : all) {
      for (const Presence* before : {longest, of_another}) {
        if (before == nullptr || before->report == p.report) continue;
        if (same_connection(*before, p) && share_time(*before->connection, *p.connection)) {
          return text(*before, p);
        }
      }
      const auto lasts_longer = [&](const Presence* than) {
        return than == nullptr || p.connection->last_ns >= than->connection->last_ns;
      };
      if (lasts_longer(longest)) {
        if (longest != nullptr && longest->report != p.report) of_another = longest;
        longest = &p;
      } else if (longest->report != p.report && lasts_longer(of_another)) {
        of_another = &p;
      }
    }
    return {};
  }

  [[nodiscard]] std::string name(std::size_t report) const {
    return report < names_.size() ? names_[report] : fmt::format("report {}", report + 1);
  }

  [[nodiscard]] std::string text(const Presence& a, const Presence& b) const {
    const Connection& c = *a.connection;
    const std::int64_t from = std::max(c.first_ns, b.connection->first_ns);
    const std::int64_t until = std::min(c.last_ns, b.connection->last_ns);
    return fmt::format(
        "{} and {} overlap: both show the connection {} - {} from {} to {}, and its Calls would "
        "count twice. Analyze the captures together instead (rpcrdma analyze FILE FILE)",
        name(std::min(a.report, b.report)), name(std::max(a.report, b.report)), end_name(c.side[0]),
        end_name(c.side[1]), format_time(from), format_clock(until));
  }

  // Captures without a connection can be equal, too.
  [[nodiscard]] std::string equal() const {
    using Span = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;
    std::map<Span, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const CaptureSummary& c = reports_[i].capture;
      // Synthetic reports without times are no captures.
      if (c.frames != 0) alike[{c.first_ns, c.last_ns, c.frames}].push_back(i);
    }
    for (const auto& [span, list] : alike) {
      for (std::size_t i = 1; i < list.size(); ++i) {
        if (json_text(reports_[list[0]]) == json_text(reports_[list[i]])) {
          return fmt::format("{} and {} are the same report, and its Calls would count twice",
                             name(list[0]), name(list[i]));
        }
      }
    }
    return {};
  }

  static std::string json_text(const Report& r) {
    std::string text;
    write_json(r, [&](std::string_view piece) { text += piece; });
    return text;
  }

  const std::vector<Report>& reports_;
  const std::vector<std::string>& names_;
  std::map<ConnectionJoin::Flow, std::vector<Presence>> flows_;
};

}  // namespace

std::string overlap_text(const std::vector<Report>& reports,
                         const std::vector<std::string>& names) {
  return Overlaps(reports, names).find();
}

}  // namespace rpcrdma::report
