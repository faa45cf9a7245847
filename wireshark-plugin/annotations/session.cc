// The analyzer's session with an observer that writes, for each frame, the notes that Wireshark
// shows.
//
// A message belongs to the frame in which its Send ends. Its RPC message goes to Wireshark's own
// dissectors once, in the frame that completes it: the Send's, or that of the last RDMA Read
// response for a Call with Read chunks. That must be the current frame at the time, since
// Wireshark's dissectors match Calls and Replies in the order of frames. A message that was held
// back behind a gap in the capture is therefore dissected with a later frame than its own.
#include "collect.h"

#include <algorithm>
#include <array>
#include <exception>

namespace rpcrdma::annotations {

namespace {

// A word is kept for every frame number up to the newest: an absurd number would use all memory.
constexpr std::uint64_t kMaxFrame = UINT32_MAX;

}  // namespace

Session::Session(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
Session::~Session() = default;

void Session::set_use(Use use) {
  impl_->use = use;
}

void Session::frame(const capture::Frame& frame) noexcept {
  Impl& s = *impl_;
  if (frame.number <= s.newest || frame.number > kMaxFrame || s.finished) return;
  s.newest = frame.number;
  s.newest_packet = 0;
  s.forget_rpcs();
  s.take(frame);
}

void Session::other_frame(std::uint64_t number, std::int64_t time_ns) noexcept {
  Impl& s = *impl_;
  if (number <= s.newest || number > kMaxFrame || s.finished) return;
  s.newest_other = number;
  s.newest_other_ns = time_ns;
}

void Session::next_packet(const capture::Frame& frame) noexcept {
  Impl& s = *impl_;
  if (frame.number != s.newest || s.finished) return;
  ++s.newest_packet;
  s.take(frame);
}

void Session::Impl::take(const capture::Frame& frame) noexcept {
  if (failure != nullptr) return;
  try {
    session.pipeline().frame(frame);
  } catch (const std::exception&) {
    failure = "out of memory: the rest of the capture is not analyzed";
  }
}

void Session::finish() noexcept {
  Impl& s = *impl_;
  if (s.finished || s.failure != nullptr) return;
  s.finished = true;
  if (s.newest_other > s.newest) {
    // Any frame that is not RoCE: Ethernet with ARP.
    std::array<std::uint8_t, 14> ethernet{};
    ethernet[12] = 0x08;
    ethernet[13] = 0x06;
    capture::Frame last;
    last.number = s.newest_other;
    last.time_ns = s.newest_other_ns;
    last.link = capture::LinkType::kEthernet;
    last.data = ethernet;
    last.original = ethernet.size();
    s.take(last);
    if (s.failure != nullptr) return;
  }
  try {
    s.session.pipeline().finish();
    s.session.finish_rules();
  } catch (const std::exception&) {
    s.failure = "out of memory: findings are incomplete";
  }
}

bool Session::finished() const {
  return impl_->finished;
}
const char* Session::failure() const {
  return impl_->failure == nullptr ? "" : impl_->failure;
}

const FrameAnnotation* Session::find(std::uint64_t frame, std::uint32_t packet) const {
  const Impl& s = *impl_;
  if (frame >= s.frame_refs.size()) return nullptr;
  Ref ref = s.frame_refs[frame];
  for (; ref != 0 && packet != 0; --packet) ref = s.frames[ref - 1].next_packet;
  return ref != 0 ? &s.frames[ref - 1] : nullptr;
}

const MessageNote& Session::message(Ref ref) const {
  return impl_->messages[ref - 1];
}
const OperationNote& Session::operation(Ref ref) const {
  return impl_->operations[ref - 1];
}
const RpcNote& Session::rpc(Ref ref) const {
  return impl_->rpcs[ref - 1];
}
const FindingNote& Session::finding(Ref ref) const {
  return impl_->findings[ref - 1];
}
const EventNote& Session::event(Ref ref) const {
  return impl_->events[ref - 1];
}
std::size_t Session::findings() const {
  return impl_->findings.size();
}

std::uint32_t Session::connections() const {
  return static_cast<std::uint32_t>(impl_->rows.size());
}
const ConnectionRow* Session::connection(std::uint32_t id) const {
  return impl_->row(id);
}
const std::array<capture::Address, 2>* Session::ends(std::uint32_t id) const {
  const auto it = impl_->ends.find(id);
  return it != impl_->ends.end() ? &it->second : nullptr;
}

bool Session::expects_messages(std::span<const std::uint8_t> address, std::uint32_t qpn) const {
  return impl_->receivers.count(Impl::receiver(address, qpn)) != 0;
}

const RpcNote* Session::rpc_of_held(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                    std::span<const std::uint8_t> send) {
  return impl_->hold_rpc(address, qpn, send);
}

const RpcNote* Session::rpc_of_held(std::uint64_t frame) const {
  const auto it = impl_->held_rpcs.find(frame);
  return it != impl_->held_rpcs.end() ? &it->second : nullptr;
}

bool Session::speaks_rpc(std::uint32_t id) const {
  return id != 0 && impl_->speaks_rpc(id - 1);
}

}  // namespace rpcrdma::annotations
