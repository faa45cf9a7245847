#include "event_edit.h"

#include <algorithm>
#include <cstring>

namespace rpcrdma::extcap {
namespace {

using trace::EventType;

constexpr std::uint32_t kMostRings = 256;

bool carries_a_message(EventType type) {
  return type == EventType::kMessage || type == EventType::kOperation ||
         type == EventType::kOperationEnd;
}

}  // namespace

std::optional<std::span<const std::uint8_t>> EventEdit::edit(const trace::EventView& view) {
  const auto type = static_cast<EventType>(view.header.type);
  Ring& ring = rings_[std::min(view.header.ring, kMostRings)];
  constexpr std::uint16_t kTypesOfABitSet = 64;
  if (view.header.type < kTypesOfABitSet && (options_.left_out & trace::type_bit(type)) != 0) {
    ++ring.left_out;
    return std::nullopt;
  }
  if (auto endpoint = trace::read_event<trace::Endpoint>(view)) {
    rings_.clear();  // counters restart
    endpoint->left_out |= options_.left_out;
    put_changed(view, *endpoint);
  } else if (auto loss = trace::read_event<trace::Loss>(view)) {
    loss->emitted -= std::min(loss->emitted, ring.left_out);
    ring.emitted = {loss->emitted, loss->lost};
    put_changed(view, *loss);
  } else {
    const bool cut = options_.snaplen != 0 && carries_a_message(type);
    const std::size_t payload =
        cut ? std::min(options_.snaplen, view.payload.size()) : view.payload.size();
    put(view.header, view.fixed, view.payload.first(payload));
  }
  return event_;
}

EventEdit::Sums EventEdit::sums() const {
  Sums sums;
  for (const auto& [number, ring] : rings_) {
    sums.emitted += ring.emitted.emitted;
    sums.lost += ring.emitted.lost;
  }
  return sums;
}

void EventEdit::put(trace::EventHeader header, std::span<const std::uint8_t> fixed,
                    std::span<const std::uint8_t> payload) {
  header.fixed = static_cast<std::uint16_t>(fixed.size());
  header.payload = static_cast<std::uint32_t>(payload.size());
  event_.assign(trace::event_bytes(header), 0);
  std::memcpy(event_.data(), &header, sizeof header);
  std::uint8_t* const at = std::copy(fixed.begin(), fixed.end(), event_.data() + sizeof header);
  std::copy(payload.begin(), payload.end(), at);
}

// Fields that a newer endpoint adds behind the known ones are kept.
template <typename Event>
void EventEdit::put_changed(const trace::EventView& view, const Event& event) {
  std::vector<std::uint8_t> fixed(view.fixed.begin(), view.fixed.end());
  fixed.resize(std::max(fixed.size(), sizeof event));
  std::memcpy(fixed.data(), &event, sizeof event);
  put(view.header, fixed, view.payload);
}

}  // namespace rpcrdma::extcap
