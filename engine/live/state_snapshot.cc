#include "state_snapshot.h"

#include <cstddef>
#include <iterator>

#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace {
namespace {

constexpr unsigned kRingShift = 24;  // of a connection's number, see Tracer::new_connection()

}  // namespace

void StateSnapshot::begin(std::uint32_t number, std::span<const std::uint8_t> event) {
  const auto [place, is_new] = connections_.try_emplace(number);
  Event& stands = place->second.event;
  bytes_ += event.size() - stands.size();
  stands.assign(event.begin(), event.end());
  // A reader that gets it from the snapshot connected later.
  constexpr std::size_t kAt = sizeof(EventHeader) + offsetof(trace::Connection, replayed);
  if (kAt < stands.size()) stands[kAt] = 1;
  const std::uint32_t ring = number >> kRingShift;
  if (is_new && ++of_ring_[ring] > kMostOfARing) {
    end(connections_.lower_bound(ring << kRingShift)->first);
  }
  while (bytes_ > most_bytes_ && connections_.size() > 1) {
    const std::uint32_t oldest = connections_.lower_bound(ring << kRingShift)->first;
    if (oldest != number) {
      end(oldest);
    } else {
      const auto first = connections_.begin();
      end(first->first != number ? first->first : std::next(first)->first);
    }
  }
}

void StateSnapshot::end(std::uint32_t number) {
  const auto place = connections_.find(number);
  if (place == connections_.end()) return;
  bytes_ -= place->second.event.size();
  for (const auto& [of, event] : place->second.sums) bytes_ -= event.size();
  --of_ring_[number >> kRingShift];
  connections_.erase(place);
}

void StateSnapshot::credits(std::uint32_t number, std::span<const std::uint8_t> event) {
  const auto place = connections_.find(number);
  if (place == connections_.end()) return;
  const auto view = view_event(event);
  const auto credits = view ? read_event<Credits>(*view) : std::nullopt;
  if (!credits || credits->side >= place->second.credits.size()) return;
  place->second.credits[credits->side].assign(event.begin(), event.end());
}

void StateSnapshot::sums(std::uint32_t number, std::span<const std::uint8_t> event) {
  const auto place = connections_.find(number);
  const auto view = view_event(event);
  if (place == connections_.end() || !view) return;
  SumsOf of{};
  // A procedure's side is 0 or 1, so that it differs from the whole connection by the offset of 1.
  if (const auto procedure = read_event<ProcedureSums>(*view)) {
    of = {procedure->side + 1U, procedure->program, procedure->version, procedure->procedure};
  }
  auto& sums = place->second.sums;
  const bool fits = sums.size() < kMostProcedures && bytes_ + event.size() <= most_bytes_;
  if (!fits && !sums.contains(of)) return;
  Event& stands = sums[of];
  bytes_ += event.size() - stands.size();
  stands.assign(event.begin(), event.end());
}

void StateSnapshot::forget_credits() {
  for (auto& [number, connection] : connections_) {
    for (Event& event : connection.credits) event.clear();
  }
}

}  // namespace rpcrdma::trace
