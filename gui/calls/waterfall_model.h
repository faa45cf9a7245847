// What the waterfall of a Call shows: the steps of the Call in lanes, from an excerpt. What the
// source does not show has no bar, and a note says so.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/index/excerpt.h>

namespace rpcrdma::gui {

enum class WaterfallLane : std::uint8_t { kClient, kWire, kServer };

struct WaterfallBar {
  enum class Kind : std::uint8_t {
    kWaiting,  // for a slot or a credit
    kSending,  // encoding, registration, posting
    kCall,     // on its way, as far as both ends or an acknowledgement show it
    kReply,
    kError,  // RDMA_ERROR instead of a Reply
    kRead,   // an RDMA Read
    kWrite,
    kGap,         // until a packet was sent again
    kWork,        // the responder executes it
    kResponse,    // from the Call to its Reply, where nothing shows what happens in between
    kCompletion,  // until nothing of it is in flight, or its caller runs again
  };
  Kind kind = Kind::kCall;
  WaterfallLane lane = WaterfallLane::kWire;
  // Since 1970, by the clock of the followed source; equal: a moment.
  std::int64_t from_ns = 0, to_ns = 0;
  QString label;              // "RDMA Write 16 KiB"
  QString detail;             // further lines; empty: none
  std::uint64_t message = 0;  // to select; 0: none
  std::uint64_t frame = 0;    // the same; 0: none
};

struct WaterfallPicture {
  QString title;           // "READ 64 KiB of big, XID 0x00000001, 12.3 ms"
  std::uint64_t call = 0;  // ID of the Call; 0: the message belongs to none
  std::int64_t from_ns = 0, to_ns = 0;
  std::vector<WaterfallBar> bars;  // by lane, then by time
  QStringList notes;               // what is not known, and how the clocks compare
};

// `id`: a message of the excerpt. `request`: what its Call asks for, may be empty.
[[nodiscard]] WaterfallPicture waterfall_of(const index::Excerpt& excerpt, std::uint64_t id,
                                            const QString& request);

// How far the server's clock is ahead of the client's, by one Call that both measured: its Send
// arrives after it was sent, and so does its Reply. The true value is within `bound_ns` of `ns`.
struct CallClock {
  std::int64_t ns = 0, bound_ns = 0;
};
// Nothing: the times contradict each other, or a step is missing.
[[nodiscard]] std::optional<CallClock> call_clock(const index::Excerpt::Measured& requester,
                                                  const index::Excerpt::Measured& responder);

}  // namespace rpcrdma::gui
