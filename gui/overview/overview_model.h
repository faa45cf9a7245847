// What the overview shows, as plain values: a pure function of a report.
//
// Times are nanoseconds since 1970, durations nanoseconds. Texts are plain: one line each, without
// control characters.
#pragma once

#include <QString>
#include <QStringList>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::gui {

// A sign has a shape and a colour: see signs.h.
enum class Sign : std::uint8_t { kError, kWarning, kNote, kGood, kUnknown };
[[nodiscard]] Sign sign_of(rules::Severity severity);

// All findings of one rule about one peer.
struct FindingCard {
  Sign sign = Sign::kNote;
  QString rule = {};         // "FC-01"
  QString title = {};        // plain words
  QString side = {};         // "server 10.0.0.2"; empty: neither side is at fault
  QString connections = {};  // "connections 1, 2 and 5 more"; empty: none in particular
  QString text = {};         // of the first finding
  QString advice = {};
  std::uint64_t count = 0;              // occurrences
  std::vector<rules::Span> spans = {};  // of the first finding with any
  std::uint32_t connection = 0;         // ID; 0: none, or several
  std::uint64_t frame = 0;              // of the first evidence; 0: there is none
  [[nodiscard]] QString key() const { return rule + ' ' + side; }
};

// A number with its course over the time of the capture.
struct OverviewTile {
  QString title = {}, value = {}, note = {};
  struct Line {
    enum class Kind : std::uint8_t { kMain, kSecond, kLimit, kBad };
    Kind kind = Kind::kMain;
    QString name;
    std::vector<double> values = {};  // all lines of a tile have equally many
  };
  std::vector<Line> lines = {};  // empty: no course is known
  bool log = false;              // the values need a logarithmic scale
  std::int64_t from_ns = 0;      // of the first bin
  std::int64_t to_ns = 0;        // end of the last one
};

struct OverviewConnection {
  std::uint32_t id = 0;
  QString ends = {};  // "10.0.0.1 - 10.0.0.2"
  QString state = {};
  std::array<std::uint64_t, 2> findings{};  // errors, warnings
  std::uint64_t calls = 0;
  std::uint64_t unanswered = 0;
  std::uint64_t retransmitted = 0;
  bool retransmissions_seen = true;
  std::int64_t p99_ns = -1;  // -1: fewer than a hundred Calls
  std::int64_t max_ns = -1;  // -1: not known
};

struct OverviewSlowCall {
  QString procedure = {};
  std::int64_t latency_ns = 0;
  std::int64_t time_ns = 0;
  std::uint64_t frame = 0;
  std::uint32_t connection = 0;
  QString longest = {};  // "RDMA operations 12.3 ms"; empty: parts are not known
};

struct OverviewFile {
  QString name = {}, server = {};
  std::uint64_t reads = 0, writes = 0, other = 0, errors = 0;
  QString bytes = {};    // "1 MiB read, 4 KiB written"
  QString pattern = {};  // "sequential"; may be empty
  std::int64_t p50_ns = -1, max_ns = -1;
};

struct OverviewMount {
  QString name = {};  // "NFSv4.1 10.0.0.1 - 10.0.0.2"
  std::uint64_t calls = 0;
  QString connections = {};  // "1, 2"
  QString limit = {};        // "slots: all 4 in use 12 times"
  QString backchannel = {};  // "down"; may be empty
};

struct OverviewModel {
  static constexpr std::size_t kMostCards = 12;
  static constexpr std::size_t kMostConnections = 20;
  static constexpr std::size_t kMostSlowCalls = 10;
  static constexpr std::size_t kMostFiles = 10;
  static constexpr std::size_t kMostMounts = 10;

  Sign sign = Sign::kUnknown;
  QString sentence = {};
  QString scope = {};    // "1,190 messages in 43.4 s"
  QString nothing = {};  // in place of cards: what was judged and found to be right; empty: cards
  QString judged = {};   // "91 rules judged; 3 withheld"
  QStringList reasons;   // why rules were withheld or not judged
  std::array<std::uint64_t, 3> counts{};  // findings by severity
  std::vector<FindingCard> cards;         // errors and warnings, the worst first
  std::vector<FindingCard> notes;
  std::uint64_t more_cards = 0;  // of both
  std::vector<OverviewTile> tiles;
  std::vector<OverviewConnection> connections;  // the most troubled first
  std::uint64_t more_connections = 0;
  std::vector<OverviewSlowCall> slowest;
  std::vector<OverviewFile> files;
  std::uint64_t more_files = 0;
  std::vector<OverviewMount> mounts;
  std::uint64_t more_mounts = 0;
  QString congestion = {};  // empty: no sign of it
  QString observer = {};    // where latencies were measured: "client's view"
};

// `growing`: more data will come, so what was not found may still appear.
[[nodiscard]] OverviewModel overview_of(const report::Report& report, bool growing);

// Parts of it.
[[nodiscard]] std::vector<FindingCard> finding_cards(const report::Report& report);
[[nodiscard]] std::vector<OverviewTile> overview_tiles(const report::Report& report, bool growing);
[[nodiscard]] std::vector<OverviewConnection> connections_by_trouble(const report::Report& report);
// "capture point", "client's view", "server's view", "client's and server's views"
[[nodiscard]] QString observer_of(const report::Report& report);
// What is wrong when a rule is broken, in plain words: "Packets are lost".
[[nodiscard]] QString rule_title(std::string_view rule);

}  // namespace rpcrdma::gui
