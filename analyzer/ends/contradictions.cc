#include "contradictions.h"

#include <fmt/core.h>

namespace rpcrdma::ends {

namespace {

constexpr std::size_t kXids = 8;
constexpr std::size_t kMost = 1024;

}  // namespace

void Contradictions::note(std::uint32_t connection, std::uint32_t xid, std::string what) {
  const std::pair<std::uint32_t, std::string> key{connection, what};
  auto it = all_.find(key);
  if (it == all_.end()) {
    if (all_.size() >= kMost) return;
    Contradiction fresh;
    fresh.what = std::move(what);
    fresh.connection = connection;
    it = all_.emplace(key, std::move(fresh)).first;
  }
  ++it->second.calls;
  if (it->second.xids.size() < kXids) it->second.xids.push_back(xid);
}

bool Contradictions::compare(std::uint32_t connection, const std::vector<Seen>& seen,
                             bool at_edge) {
  bool found = false;
  const Seen& a = seen.front();
  for (std::size_t i = 1; i < seen.size(); ++i) {
    const Seen& b = seen[i];
    const HalfCall& x = *a.half;
    const HalfCall& y = *b.half;
    const auto say = [&](std::string what) {
      note(connection, x.xid, std::move(what));
      found = true;
    };
    if (x.named && y.named &&
        (x.program != y.program || x.version != y.version || x.procedure != y.procedure)) {
      say(fmt::format("{} and {} show different procedures with one XID", file(a), file(b)));
      continue;
    }
    if (x.unclear || y.unclear || x.attempts > 1 || y.attempts > 1) continue;
    if (x.call_ns != kNoTime && y.call_ns != kNoTime && x.call_bytes != 0 && y.call_bytes != 0 &&
        x.call_bytes != y.call_bytes) {
      say(fmt::format("{} and {} show a Call with different lengths", file(a), file(b)));
    }
    if (x.reply_ns != kNoTime && y.reply_ns != kNoTime) {
      if (x.error != y.error) {
        say(fmt::format("one of {} and {} shows an RDMA_ERROR, the other a Reply", file(a),
                        file(b)));
      } else if (x.reply_bytes != 0 && y.reply_bytes != 0 && x.reply_bytes != y.reply_bytes) {
        say(fmt::format("{} and {} show a Reply with different lengths", file(a), file(b)));
      }
    }
    if (at_edge) continue;
    // The nearer to the responder, the earlier a Reply is seen.
    if (x.reply_ns != kNoTime && y.reply_ns == kNoTime && y.call_ns != kNoTime) {
      say(fmt::format("{} shows a Reply that {} never shows, although it shows the Call", file(a),
                      file(b)));
    }
    if (x.call_ns == kNoTime && y.call_ns != kNoTime && y.reply_ns != kNoTime) {
      say(fmt::format("{} shows a Call that {} never shows, although it shows the Reply", file(b),
                      file(a)));
    }
  }
  return found;
}

void Contradictions::disordered(std::uint32_t connection, const std::vector<Seen>& seen) {
  note(connection, seen.front().half->xid,
       fmt::format("no offset of clocks explains the order of a Call and its Reply in {} and {}",
                   file(seen.front()), file(seen.back())));
}

void Contradictions::missing(std::uint32_t connection, const std::vector<Seen>& seen,
                             const Seen& missing) {
  const Seen& s = seen.front();
  note(
      connection, s.half->xid,
      fmt::format("{} shows a Call and its Reply at a time that {} covers completely, but {} shows "
                  "neither",
                  file(s), file(missing), file(missing)));
}

std::vector<Contradiction> Contradictions::take() {
  std::vector<Contradiction> list;
  list.reserve(all_.size());
  for (auto& [key, c] : all_) list.push_back(std::move(c));
  all_.clear();
  return list;
}

}  // namespace rpcrdma::ends
