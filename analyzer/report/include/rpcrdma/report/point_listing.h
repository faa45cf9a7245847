// Lists the messages of several sources once each, with the time at every point that saw them.
//
// A point is a source that shows a connection: the kernel or the endpoint at one of its ends, or a
// capture between them. Messages of the same connection, sender, kind and XID are the same message.
// Messages are kept as the text that will be printed, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/ends/ends.h>
#include <rpcrdma/ends/read.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/report/message_text.h>

namespace rpcrdma::report {

// What one file shows of a message.
struct Sighting {
  std::uint32_t file = 0;        // index in the list given to read_ends()
  std::uint32_t connection = 0;  // its ID in a report of that file alone
  capture::Address sender;
  model::Kind kind = model::Kind::kCall;
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;  // by the clock of the file
  bool has_bytes = true;     // the file shows the message, not only fields of it
  std::string text;          // a line, or a JSON object with its newline
};

struct PointListingOptions {
  bool json = false;
  TextStyle style;
  std::optional<std::uint32_t> xid;  // list this one only
  std::uint64_t most = 0;            // messages; 0: all
  std::size_t files = 2;             // so many share the memory
  std::size_t most_bytes = std::size_t{512} << 20;
};

class PointListing final : public ends::Watcher {
 public:
  explicit PointListing(PointListingOptions options);
  ~PointListing() override;
  PointListing(const PointListing&) = delete;
  PointListing& operator=(const PointListing&) = delete;

  [[nodiscard]] model::Observer* observer(std::uint32_t file) override;
  void session_begins(std::uint32_t file, const session::Context& context) override;
  void file_ended(std::uint32_t file) override;

  // What the observers do with each message. A file that has no memory left ends the listing at
  // this time, for all files.
  void add(Sighting sighting);

  struct Written {
    std::uint64_t messages = 0;
    std::uint64_t seen_once = 0;    // of these, on a shared connection, but at one point only
    std::uint64_t left_out = 0;     // sightings beyond the memory, or beyond the end of the listing
    std::uint64_t not_aligned = 0;  // sightings for which no clock is known
  };
  // Passes the listing on, line by line. Call once, with the result of the same reading.
  Written write(const ends::Ends& ends, const std::function<void(std::string_view)>& to);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::report
