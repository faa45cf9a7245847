#include "first_calls.h"

#include <algorithm>

namespace rpcrdma::rules {

void FirstCalls::begin(const roce::Connection& connection, std::size_t client,
                       std::size_t departed) {
  if (departed >= kDeparted) return;
  if (begun_.size() == kBegun) {
    complete_ = false;
    return;
  }
  places_[connection.index] = begun_.size();
  Begun& b = begun_.emplace_back();
  b.connection = connection.index;
  b.address = {connection.side[client].address, connection.side[1 - client].address};
  b.first_ns = connection.first_ns;
  b.departed_before = departed;
}

Begun* FirstCalls::find(std::uint32_t connection) {
  const auto at = places_.find(connection);
  return at == places_.end() ? nullptr : &begun_[at->second];
}

bool FirstCalls::called(std::uint32_t connection, const FirstCall& call) {
  Begun* const b = find(connection);
  if (b == nullptr) return false;
  if (b->calls.size() < kBegunCalls) {
    b->calls.push_back(call);
  } else {
    b->more = true;
  }
  return !b->more;
}

void FirstCalls::leave_out(std::uint32_t connection, std::uint64_t frame) {
  Begun* const b = find(connection);
  if (b == nullptr) return;
  const auto at = std::find_if(b->calls.begin(), b->calls.end(),
                               [&](const FirstCall& call) { return call.frame == frame; });
  if (at != b->calls.end()) at->left_out = true;
}

// The entry stays in place, so that the indices of other entries stay valid.
void FirstCalls::drop(std::uint32_t connection) {
  const auto at = places_.find(connection);
  if (at == places_.end()) return;
  begun_[at->second].calls.clear();
  places_.erase(connection);
}

std::vector<Begun> FirstCalls::list() const {
  std::vector<Begun> list;
  std::copy_if(begun_.begin(), begun_.end(), std::back_inserter(list),
               [](const Begun& b) { return !b.calls.empty(); });
  return list;
}

}  // namespace rpcrdma::rules
