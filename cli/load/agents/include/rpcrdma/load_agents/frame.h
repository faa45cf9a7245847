// Messages between the coordinator of a load and its agents, over the standard input and output of
// `rpcrdma load --agent`: the framing. A frame is a mark of 8 bytes, type and length (32 bits each,
// big-endian), and the body. Mark, header and the body of kHello are the same in all versions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::load_agents {

enum class FrameType : std::uint32_t {
  // From the agent.
  kHello = 1,      // the first: who it is
  kPong = 2,       // its clock
  kReady = 3,      // it has parsed the options, and its server listens; no body
  kConnected = 4,  // its connections are established; no body
  kInterval = 5,   // what it did in one second
  kResult = 6,     // what it did in a round
  kRefusal = 7,    // why it cannot; it ends
  kLocated = 8,    // its address in a network
  // From the coordinator.
  kPing = 16,
  kOptions = 17,  // the rank and the options of the load
  kConnect = 18,  // the servers to call in this round
  kStart = 19,    // when to begin
  kLocate = 21,   // asks for kLocated
  kStop = 20,     // end the load now, and send the result; no body
};

using Bytes = std::span<const std::uint8_t>;

struct Frame {
  FrameType type = FrameType::kHello;
  std::vector<std::uint8_t> body;
};

inline constexpr std::size_t kFrameHeaderBytes = 16;
// Text before the first frame: a shell's start-up files may print some.
inline constexpr std::size_t kMostBannerBytes = std::size_t{64} << 10;

// The longest body of a type; nothing: there is no such type.
[[nodiscard]] std::optional<std::size_t> most_body_bytes(FrameType type);

// Appends a frame to `out`. The body must not be longer than its type permits.
void append_frame(std::vector<std::uint8_t>& out, FrameType type, Bytes body);

// Splits a stream into frames. What has arrived is bounded by the longest body.
class FrameReader {
 public:
  // `most_banner`: bytes of text that may precede the first frame.
  explicit FrameReader(std::size_t most_banner) : most_banner_(most_banner) {}

  // Appends what has arrived. Call next() until it returns nothing before the next append.
  void append(Bytes bytes);
  // No more arrives.
  void end();
  // The next whole frame; nothing if it has not arrived. Error, also at all later calls: the stream
  // is not one of frames, or a frame is too long.
  [[nodiscard]] base::Expected<std::optional<Frame>> next();
  // Whether a frame has begun. Until then, the other end may be another program.
  [[nodiscard]] bool begun() const { return begun_; }
  // Text that preceded the first frame, or that has arrived instead. Bounded.
  [[nodiscard]] const std::string& banner() const { return banner_; }

 private:
  // Moves text before the first mark to banner_. False: the mark has not arrived.
  [[nodiscard]] bool skip_banner();

  std::size_t most_banner_;
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0;  // of the next frame in buffer_
  std::string banner_;
  bool begun_ = false;
  std::optional<base::Error> error_;
};

}  // namespace rpcrdma::load_agents
