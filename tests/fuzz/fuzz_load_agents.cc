// What an agent of a load, or its coordinator, may receive: any bytes, in any pieces. The frames
// are the same however the bytes are cut; what is kept is bounded; and each message that decodes is
// exactly what encode() makes of it.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <algorithm>
#include <string>
#include <vector>

#include <rpcrdma/load_agents/agent_list.h>
#include <rpcrdma/load_agents/frame.h>
#include <rpcrdma/load_agents/messages.h>

namespace {

using namespace rpcrdma::load_agents;
using rpcrdma::fuzz::require;

constexpr std::size_t kBanner = 100;

struct Received {
  std::vector<Frame> frames;
  std::string banner;
  bool failed = false;
};

Received receive(Bytes bytes, std::size_t piece) {
  Received r;
  FrameReader reader(kBanner);
  while (!bytes.empty() && !r.failed) {
    const std::size_t n = std::min(piece, bytes.size());
    reader.append(bytes.first(n));
    bytes = bytes.subspan(n);
    for (;;) {
      auto frame = reader.next();
      r.failed = !frame;
      if (!frame || !*frame) break;
      require((*frame)->body.size() <= most_body_bytes((*frame)->type));
      r.frames.push_back(std::move(**frame));
    }
  }
  r.banner = reader.banner();
  require(r.banner.size() <= kBanner);
  return r;
}

template <typename T>
void check(Bytes body) {
  const auto message = T::decode(body);
  if (!message) return;
  // Padding may differ.
  const Body again = message->encode();
  require(again.size() == body.size());
  require(T::decode(again)->encode() == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(data + 1, size - 1);
  const Received whole = receive(bytes, bytes.size());
  const Received pieces = receive(bytes, 1U + data[0]);
  require(whole.failed == pieces.failed);
  require(whole.frames.size() == pieces.frames.size());
  for (std::size_t i = 0; i < whole.frames.size(); ++i) {
    require(whole.frames[i].type == pieces.frames[i].type);
    require(whole.frames[i].body == pieces.frames[i].body);
  }
  std::vector<Bytes> bodies{bytes};
  for (const Frame& frame : whole.frames) bodies.emplace_back(frame.body);
  for (const Bytes body : bodies) {
    check<Hello>(body);
    check<Refusal>(body);
    check<Ping>(body);
    check<Pong>(body);
    check<Locate>(body);
    check<Located>(body);
    check<Options>(body);
    check<Connect>(body);
    check<Start>(body);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto agents = parse_agents(text)) require(agents->size() <= kMostAgents);
  (void)split_words(text);
  (void)quote_word(text);
  return 0;
}
