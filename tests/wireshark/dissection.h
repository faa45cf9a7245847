// libwireshark with our plugin in this process: captures are read and dissected as Wireshark does
// when it opens a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::wireshark::testing {

// A frame of a capture file, as libwiretap gives it.
struct Record {
  std::int64_t seconds = 0;
  int nanoseconds = 0;
  int encapsulation = 0;
  std::uint32_t wire_length = 0;
  std::vector<std::uint8_t> data;  // captured
};

// Initialises libwiretap and libwireshark, with the plugin's own code and no plugins from folders;
// once, from main(). Ends the program with a message where that fails.
void init_wireshark(const char* program);

// All records of a capture file, by libwiretap. Fails the test if it cannot be opened.
[[nodiscard]] std::vector<Record> read_capture(const std::string& path);

struct Seen {
  std::uint64_t ours = 0;       // frames with our protocol
  std::uint64_t malformed = 0;  // frames of which some dissector says so
  std::uint64_t findings = 0;
  std::string bugs;      // what Wireshark says of dissectors at fault, a line each; empty: nothing
  std::string unstable;  // frames that are not shown alike each time
};

enum class Again : std::uint8_t { kBackwards, kAndForwards };

// Opens the capture, dissects all of its frames in order, then backwards, as when a display filter
// is applied again, each with a tree and with columns, and closes it. kAndForwards: once more in
// order, and Seen::unstable names what is shown otherwise than before.
[[nodiscard]] Seen dissect(const std::vector<Record>& capture, Again again = Again::kAndForwards);

}  // namespace rpcrdma::wireshark::testing
