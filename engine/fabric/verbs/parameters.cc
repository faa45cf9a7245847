#include "parameters.h"

#include <algorithm>

namespace rpcrdma::verbs {

namespace {

// Each call of ibv_post_recv() takes a lock, and rings a doorbell or writes a doorbell record.
constexpr std::uint32_t kReceivesAtOnce = 8;

std::uint32_t positive(int value) {
  return static_cast<std::uint32_t>(std::max(value, 0));
}

}  // namespace

Abilities abilities_of(const ibv_device_attr& device, const ibv_port_attr& port, bool iwarp) {
  Abilities a;
  a.work_requests = positive(device.max_qp_wr);
  constexpr std::uint32_t kSiw = 0x626d74;
  const bool siw = device.vendor_id == kSiw;
  a.late_reads = a.signal_all = siw;
  // siw's library takes a mapping at 0x90000 for a failed one, and the kernel assigns these offsets
  // in the order of creation. There the first completion queue covers this one: 32 bytes a place,
  // from 0. Otherwise enough for a few dozen usual connections.
  const std::uint32_t wanted = siw ? 32768 : 16384;
  a.completions = std::min(positive(device.max_cqe), wanted);
  a.slices = positive(device.max_sge);
  a.read_slices = positive(device.max_sge_rd);
  a.responder_resources = positive(device.max_qp_rd_atom);
  a.initiator_depth = positive(device.max_qp_init_rd_atom);
  a.message = port.max_msg_sz;
  a.iwarp = iwarp;
  constexpr unsigned kType2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  a.windows = (device.device_cap_flags & kType2) != 0 && device.max_mw > 0;
  // Linux's rxe delivers completions with the kernel's flag values, to user space as well.
  constexpr std::uint32_t kRxe = 0xffffff;
  a.kernel_flags = a.windows_stall = device.vendor_id == kRxe;
  a.invalidates = (device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
  return a;
}

bool wants_windows(const Abilities& a, HandleKind handles) {
  if (handles != HandleKind::kAuto) return handles == HandleKind::kWindows;
  return a.windows && !a.windows_stall;
}

fabric::Limits limits_of(const Abilities& a) {
  constexpr std::uint64_t kMostMessage = 1U << 31;  // IBA 9.7.6
  fabric::Limits limits;
  limits.message =
      static_cast<std::uint32_t>(a.message == 0 ? kMostMessage : std::min(a.message, kMostMessage));
  const std::uint32_t read = a.iwarp              ? std::max(a.read_slices, 1U)
                             : a.read_slices == 0 ? a.slices
                                                  : std::min(a.read_slices, a.slices);
  limits.read_slices = static_cast<std::uint8_t>(std::min<std::uint32_t>(read, fabric::kMaxSlices));
  limits.sends_invalidate = a.invalidates;
  limits.receives_at_once = kReceivesAtOnce;
  limits.accepts_invalidate = a.windows && a.invalidates;
  return limits;
}

int local_access(const Abilities& a) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (a.windows) access |= IBV_ACCESS_MW_BIND;
  if (a.iwarp) access |= IBV_ACCESS_REMOTE_WRITE;
  return access;
}

int remote_access(fabric::Access access) {
  int rights = 0;
  if (fabric::allows(access, fabric::Access::kRemoteRead)) rights |= IBV_ACCESS_REMOTE_READ;
  if (fabric::allows(access, fabric::Access::kRemoteWrite)) rights |= IBV_ACCESS_REMOTE_WRITE;
  return rights;
}

QueueSizes queue_sizes(const Abilities& a, const fabric::QueueDepths& depths) {
  QueueSizes sizes;
  const std::uint64_t send = std::uint64_t{depths.send} + 2ULL * depths.handles;
  sizes.send =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(send, 1, std::max(a.work_requests, 1U)));
  sizes.receive = std::clamp(depths.receive, 1U, std::max(a.work_requests, 1U));
  return sizes;
}

std::uint8_t at_most(std::uint32_t own, std::uint32_t peers, std::uint32_t devices) {
  // librdmacm interprets 255 as "the maximum available".
  constexpr std::uint32_t kMost = 254;
  return static_cast<std::uint8_t>(std::min({own, peers, devices, kMost}));
}

}  // namespace rpcrdma::verbs
