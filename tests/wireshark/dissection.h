// libwireshark with the plugin in this process: reads and dissects captures as Wireshark does when
// it opens a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::wireshark::testing {

// A frame of a capture file, as read by libwiretap.
struct Record {
  std::int64_t seconds = 0;
  int nanoseconds = 0;
  int encapsulation = 0;
  std::uint32_t wire_length = 0;
  std::vector<std::uint8_t> data;  // captured
};

// Initializes libwiretap and libwireshark, with the plugin's code linked in and no plugins from
// folders. Called once, from main(). Ends the program with a message on failure.
void init_wireshark(const char* program);

// Reads all records of a capture file with libwiretap. Fails the test if it cannot be opened.
[[nodiscard]] std::vector<Record> read_capture(const std::string& path);

struct Seen {
  std::uint64_t ours = 0;       // frames with the plugin's protocol
  std::uint64_t malformed = 0;  // frames that a dissector calls malformed
  std::uint64_t findings = 0;
  std::string bugs;      // Wireshark's reports of dissector bugs, one per line; empty: none
  std::string unstable;  // frames whose text differs between passes
};

enum class Again : std::uint8_t { kBackwards, kAndForwards };

// Opens the capture, dissects all of its frames in order and then backwards, as when a display
// filter is applied again, with tree and columns, and closes it. kAndForwards: also once more in
// order, and Seen::unstable names frames that look different.
[[nodiscard]] Seen dissect(const std::vector<Record>& capture, Again again = Again::kAndForwards);

}  // namespace rpcrdma::wireshark::testing
