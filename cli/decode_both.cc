#include "decode_both.h"

#include "colour.h"
#include "commands.h"
#include "confined_input.h"
#include "input.h"
#include "output_file.h"

#include <cstdio>
#include <optional>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/ends/read.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/point_listing.h>

namespace rpcrdma::cli {

namespace {

// Returns false if an option is given that the listing has no use for; the error is reported.
bool usable(const PrintOptions& o) {
  const bool other = o.verbose || o.events || o.hex || o.fields != nullptr || o.since_ns ||
                     !o.connections.empty() || !o.types.empty() || !o.from.empty() ||
                     !o.to.empty() || !o.filter.empty();
  if (other) {
    complain(
        "decode: --both: of the options that select or format, only --json, --xid and --count can "
        "be combined with it");
  }
  return !other;
}

void report_gaps(const ends::Ends& ends, const report::PointListing::Written& written) {
  for (const std::string& note : ends.notes) inform(plot::escape_terminal(note));
  if (written.left_out != 0) {
    complain(fmt::format(
        "decode: --both: {} messages are left out: the listing ends where the memory for one file "
        "was full; select Calls by --xid, or give shorter files",
        written.left_out));
  }
  if (ends.not_kept != 0) {
    complain(
        fmt::format("decode: --both: {} Calls are beyond the limit, so their stages are not "
                    "shown",
                    ends.not_kept));
  }
  if (written.not_aligned != 0) {
    complain(
        fmt::format("decode: --both: {} messages have no time by the clock of the reference; "
                    "they stand where their own clock puts them",
                    written.not_aligned));
  }
  if (written.seen_once != 0) {
    inform(fmt::format("{} of {} messages were seen at one point only", written.seen_once,
                       written.messages));
  }
}

}  // namespace

int decode_both(const std::vector<std::string>& paths, const PrintOptions& options, unsigned jobs) {
  if (!usable(options)) return kUnreadable;
  report::PointListingOptions listing_options;
  listing_options.json = options.json;
  listing_options.style = {colour_wanted(stdout)};
  listing_options.most = options.most;
  listing_options.files = paths.size();
  if (!options.xid.empty()) {
    listing_options.xid = base::parse_u32(options.xid);
    if (!listing_options.xid) {
      complain(fmt::format("decode: --xid {}: not a 32-bit number", options.xid));
      return kUnreadable;
    }
  }
  report::PointListing listing(listing_options);
  confine_opening();
  ends::EndsOptions ends_options;
  ends_options.keep_calls = true;
  ends_options.threads = jobs;
  ends_options.check_icrc = !options.no_icrc;
  ends_options.dialect = options.dialect;
  const auto ends = ends::read_ends(paths, ends_options, &listing);
  if (!ends) {
    complain(ends.error().message);
    return kUnreadable;
  }
  const auto written = listing.write(*ends, buffered_stdout());
  flush_stdout();
  report_gaps(*ends, written);
  if (written.messages == 0) {
    complain(options.xid.empty()
                 ? "decode: no RPC-over-RDMA message; `rpcrdma analyze` says what the files hold"
                 : "decode: no message was selected");
  }
  return kOk;
}

}  // namespace rpcrdma::cli
