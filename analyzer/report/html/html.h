// The sections of the page (report_html.h). Each function returns a section with its heading, or an
// empty text if the report has no data for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/report/html_page.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report::html {

// Limits of the page.
inline constexpr std::size_t kMostFindings = 200;  // groups by rule and peer
inline constexpr std::size_t kMostOfGroup = 20;
inline constexpr std::size_t kMostConnections = 500;
inline constexpr std::size_t kMostCredits = 24;
inline constexpr std::size_t kMostSpans = 12;
inline constexpr std::size_t kMostLatencyRows = 200;
inline constexpr std::size_t kMostProcedures = 200;
inline constexpr std::size_t kMostFiles = 200;
inline constexpr std::size_t kMostEnds = 24;  // procedures

// The most important numbers, as tiles.
[[nodiscard]] std::string tiles(const Report& report);
[[nodiscard]] std::string findings(const Report& report);
// Latency by client, server, connection and size.
// Where the time of the Calls went that several sources show.
[[nodiscard]] std::string both_ends(const ends::Ends& ends);
[[nodiscard]] std::string who_is_slow(const Report& report);
[[nodiscard]] std::string over_time(const Report& report);
[[nodiscard]] std::string credits(const Report& report);
[[nodiscard]] std::string latency(const Report& report);
[[nodiscard]] std::string slowest(const Report& report);
[[nodiscard]] std::string connections(const Report& report);
[[nodiscard]] std::string procedures(const Report& report);
[[nodiscard]] std::string files(const Report& report);
[[nodiscard]] std::string packets(const Report& report);
[[nodiscard]] std::string capture_quality(const Report& report);
[[nodiscard]] std::string recording(const Report& report);
[[nodiscard]] std::string sessions(const Report& report);

// Returns "frames 3, 5, 9, ..."; empty without frames.
[[nodiscard]] std::string frames(const std::vector<std::uint64_t>& list, std::uint64_t count);

// Columns of a latency distribution: Calls, quantiles, max, mean. Cells are empty where there are
// too few Calls.
void latency_columns(Table& table);
void latency_cells(Table& table, const base::Histogram& h);

// Says which times are cut from the charts; empty if none are.
[[nodiscard]] std::string cuts_note(const Report& report);

}  // namespace rpcrdma::report::html
