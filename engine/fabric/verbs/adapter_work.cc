// Work of the verbs adapter: posting Sends, Reads, Writes, Receives and handles, and their
// completions.
#include "adapter.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

namespace rpcrdma::verbs {

using fabric::Errc;
using fabric::Expected;
using fabric::Operation;
using fabric::Status;

// ----- completions

void Adapter::poll(int batches) {
  queues_.poll(batches, [this](const ibv_wc& wc) {
    ++counters_.completions;
    on_completion(wc);
  });
}

void Adapter::on_completion(const ibv_wc& wc) {
  const WorkName work = WorkName::decode(wc.wr_id);
  Slot* const s = find(work.connection);
  if (s == nullptr || !s->alive()) return;
  if (wc.status == IBV_WC_WR_FLUSH_ERR) {
    // The connection's end follows and completes all unfinished work.
    return fail(*s, "");
  }
  work.receive ? on_received(*s, wc, work) : on_sent(*s, wc, work);
}

void Adapter::on_sent(Slot& slot, const ibv_wc& wc, const WorkName& work) {
  const std::uint64_t n = work.from(slot.sends.begin());
  if (n >= slot.sends.end()) return;
  const SendWork done = complete(slot.sends, n, device_->abilities().late_reads);
  const Status status = translate(wc.status);
  const bool succeeded = status == Status::kSuccess;
  if (succeeded && done.operation == Operation::kInvalidate) {
    (void)handles_.end(name_of(slot), done.value);
  }
  if (done.news || !succeeded) {
    fabric::Completion& c = completions_.next(name_of(slot));
    c.id = done.id;
    c.connection = slot.cookie;
    c.operation = done.operation;
    c.status = status;
    if (succeeded && done.operation == Operation::kRead) c.bytes = done.value;
    completions_.push();
  }
  if (succeeded) return;
  fail(slot,
       fmt::format("{} failed: {} ({}, vendor error {:#x})", fabric::operation_name(done.operation),
                   fabric::status_name(status), ::ibv_wc_status_str(wc.status), wc.vendor_err));
}

void Adapter::on_received(Slot& slot, const ibv_wc& wc, const WorkName& work) {
  const std::uint64_t n = work.from(slot.receives.begin());
  if (n >= slot.receives.end()) return;
  while (slot.receives.begin() != n) slot.receives.pop();
  const std::uint64_t id = slot.receives.front();
  slot.receives.pop();
  const Status status = translate(wc.status);
  // Data can arrive before the RTU, or instead of it if it is lost.
  if (status == Status::kSuccess && slot.phase == Phase::kAccepted) {
    (void)::rdma_notify(slot.id, IBV_EVENT_COMM_EST);
    established(slot, nullptr);
  }
  fabric::Completion& c = completions_.next(name_of(slot));
  c.id = id;
  c.connection = slot.cookie;
  c.operation = Operation::kReceive;
  c.status = status;
  if (status == Status::kSuccess) {
    translate_received(wc, device_->abilities().kernel_flags, c);
    if (c.has_invalidated) (void)handles_.end(name_of(slot), c.invalidated);
  }
  completions_.push();
  if (status == Status::kSuccess) return;
  fail(slot, fmt::format("Receive failed: {} ({})", fabric::status_name(status),
                         ::ibv_wc_status_str(wc.status)));
}

void Adapter::flush_unfinished(Slot& slot) {
  const auto flush = [&](std::uint64_t id, Operation operation) {
    fabric::Completion& c = completions_.next(name_of(slot));
    c.id = id;
    c.connection = slot.cookie;
    c.operation = operation;
    c.status = Status::kFlushed;
    completions_.push();
  };
  for (; !slot.sends.empty(); slot.sends.pop()) {
    const SendWork& work = slot.sends.front();
    // Handles and unsignaled work need no completion; the end of the connection covers them.
    if (work.news) flush(work.id, work.operation);
  }
  for (; !slot.receives.empty(); slot.receives.pop()) {
    flush(slot.receives.front(), Operation::kReceive);
  }
  for (const HeldReceive& r : slot.held) flush(r.id, Operation::kReceive);
  slot.held.clear();
}

void Adapter::fail(Slot& slot, const std::string& reason) {
  if (slot.reason.empty()) slot.reason = reason;
  if (slot.failing) return;
  slot.failing = true;
  failing_.push_back(name_of(slot));
}

void Adapter::finish_failed() {
  finishing_.swap(failing_);
  for (const Name name : finishing_) {
    Slot* const s = find(name);
    if (s == nullptr || !s->alive()) continue;
    (void)finish(*s, fabric::EventType::kDisconnected,
                 s->reason.empty() ? "the connection failed" : s->reason);
  }
  finishing_.clear();
}

// ----- posting

ibv_send_wr& Adapter::add_to_chain(Slot& slot, const SendWork& work, bool signaled) {
  ibv_send_wr& wr = slot.chain[slot.chained];
  wr.wr_id = WorkName{name_of(slot), false, static_cast<std::uint32_t>(slot.sends.end())}.encode();
  // Places in the queue become free only with completions.
  if (!signaled && ++slot.silent >= slot.send_room / 4) signaled = true;
  if (signaled) {
    wr.send_flags |= IBV_SEND_SIGNALED;
    slot.silent = 0;
  }
  slot.sends.push(work);
  ++slot.chained;
  return wr;
}

bool Adapter::post_chain(Slot& slot) {
  if (slot.chained == 0) return true;
  for (std::size_t i = 0; i + 1 < slot.chained; ++i) slot.chain[i].next = &slot.chain[i + 1];
  slot.chain[slot.chained - 1].next = nullptr;
  ibv_send_wr* bad = nullptr;
  ++counters_.send_posts;
  // Some libraries return negative numbers.
  const int error = std::abs(::ibv_post_send(slot.id->qp, slot.chain.data(), &bad));
  // siw's queues all work, and then names none if the connection has ended.
  const std::size_t posted = error == 0 || bad == nullptr
                                 ? slot.chained
                                 : static_cast<std::size_t>(bad - slot.chain.data());
  for (std::size_t i = 0; i < posted; ++i) {
    const ibv_send_wr& wr = slot.chain[i];
    ++counters_.send_requests;
    if ((wr.send_flags & IBV_SEND_SIGNALED) != 0) ++counters_.signaled;
    if (wr.opcode == IBV_WR_BIND_MW) ++counters_.binds;
    if (wr.opcode == IBV_WR_LOCAL_INV) ++counters_.invalidations;
    // The window's handle from now on; the next binding changes it again.
    if (wr.opcode == IBV_WR_BIND_MW) wr.bind_mw.mw->rkey = wr.bind_mw.rkey;
  }
  std::move(slot.chain.begin() + static_cast<std::ptrdiff_t>(posted),
            slot.chain.begin() + static_cast<std::ptrdiff_t>(slot.chained), slot.chain.begin());
  slot.chained -= posted;
  if (error == 0) return true;
  // Some devices need several places for one work request, which then has to wait for others.
  const bool full = error == ENOMEM && slot.sends.size() > slot.chained;
  if (!full) fail(slot, fmt::format("work could not be posted: {}", std::strerror(error)));
  return false;
}

void Adapter::leave_for_later(Slot& slot) {
  if (slot.dirty) return;
  slot.dirty = true;
  dirty_.push_back(name_of(slot));
}

void Adapter::post_waiting() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const Name name = dirty_[i];
    Slot* const s = find(name);
    if (s == nullptr || s->phase != Phase::kEstablished) continue;
    if (post_chain(*s) || s->failing) {
      s->dirty = false;
    } else {
      dirty_[kept++] = name;
    }
  }
  dirty_.resize(kept);
}

Expected<void> Adapter::check(const fabric::SendRequest& r) const {
  const fabric::Limits& limits = device_->limits();
  const std::size_t most =
      r.operation == Operation::kRead ? limits.read_slices : fabric::kMaxSlices;
  if (r.local.size() > most) return fabric::fail(Errc::kBadArgument, "too many slices");
  if (length_of(r.local) > limits.message) {
    return fabric::fail(Errc::kBadArgument, "longer than the device allows");
  }
  if (r.operation >= Operation::kReceive) {
    return fabric::fail(Errc::kBadArgument, "not an operation of the send queue");
  }
  if (r.operation == Operation::kSendInvalidate && !limits.sends_invalidate) {
    return fabric::fail(Errc::kBadArgument, "the device has no Send with Invalidate");
  }
  return {};
}

Expected<std::size_t> Adapter::post_send(Name name, std::span<const fabric::SendRequest> requests) {
  Slot* const s = find(name);
  if (s == nullptr || s->phase != Phase::kEstablished || s->failing) {
    return fabric::fail(Errc::kNotConnected);
  }
  std::size_t posted = 0;
  while (posted < requests.size()) {
    if (s->chained == kChain && !post_chain(*s)) break;
    std::size_t added = 0;
    Expected<void> good;
    for (; posted + added < requests.size() && s->chained < kChain && room_for_send(*s); ++added) {
      const fabric::SendRequest& r = requests[posted + added];
      good = check(r);
      if (!good) break;
      ibv_send_wr& wr = s->chain[s->chained];
      translate(r, s->most_inline, wr, sges_[s->chained]);
      const std::uint32_t value = r.operation == Operation::kRead ? length_of(r.local) : 0;
      // Only its own completion shows that a late Read is complete.
      const Abilities& a = device_->abilities();
      const bool signaled =
          r.signaled || a.signal_all || (a.late_reads && r.operation == Operation::kRead);
      add_to_chain(*s, {r.id, r.operation, r.signaled, value}, signaled);
    }
    if (added == 0) {
      if (posted == 0 && !good) return tl::unexpected(good.error());
      break;
    }
    const bool all = post_chain(*s);
    // Requests that were not posted go back to their owner; earlier ones in the chain wait.
    std::size_t back = 0;
    if (!all) {
      back = std::min(added, s->chained);
      for (std::size_t i = 0; i < back; ++i) s->sends.pop_back();
      s->chained -= back;
      if (s->chained != 0) leave_for_later(*s);
    }
    posted += added - back;
    if (!all || !good) break;
  }
  if (posted == 0 && s->failing) return fabric::fail(Errc::kNotConnected);
  if (posted == 0 && !requests.empty()) return fabric::fail(Errc::kNoRoom);
  return posted;
}

// Work of a device that copies only signaled work keeps its completion.
std::uint32_t Adapter::copied_send(Name name) {
  const Slot* const s = find(name);
  return s == nullptr || device_->abilities().signal_all ? 0 : s->most_inline;
}

Expected<std::size_t> Adapter::post_held(Slot& slot,
                                         std::span<const fabric::ReceiveRequest> requests) {
  const std::uint32_t most =
      slot.phase == Phase::kRequested ? device_->abilities().work_requests : slot.depths.receive;
  std::size_t posted = 0;
  for (const fabric::ReceiveRequest& r : requests) {
    if (r.local.size() > fabric::kMaxSlices) {
      if (posted != 0) break;
      return fabric::fail(Errc::kBadArgument, "too many slices");
    }
    if (slot.held.size() >= most) {
      if (posted != 0) break;
      return fabric::fail(Errc::kNoRoom);
    }
    HeldReceive& held = slot.held.emplace_back();
    held.id = r.id;
    held.count = static_cast<std::uint32_t>(r.local.size());
    std::copy(r.local.begin(), r.local.end(), held.slices.begin());
    ++posted;
  }
  return posted;
}

Expected<std::size_t> Adapter::post_receive(Name name,
                                            std::span<const fabric::ReceiveRequest> requests) {
  Slot* const s = find(name);
  if (s == nullptr || !s->alive()) return fabric::fail(Errc::kNotConnected);
  if (!s->has_qp()) return post_held(*s, requests);
  std::array<ibv_recv_wr, kChain> chain;
  std::size_t posted = 0;
  while (posted < requests.size()) {
    std::size_t n = 0;
    bool good = true;
    for (; posted + n < requests.size() && n < kChain && s->receives.size() < s->receive_room;
         ++n) {
      const fabric::ReceiveRequest& r = requests[posted + n];
      good = r.local.size() <= fabric::kMaxSlices;
      if (!good) break;
      ibv_recv_wr& wr = chain[n];
      wr.wr_id = WorkName{name, true, static_cast<std::uint32_t>(s->receives.end())}.encode();
      wr.next = nullptr;
      wr.sg_list = sges_[n].data();
      wr.num_sge = translate(r.local, sges_[n]);
      if (n != 0) chain[n - 1].next = &wr;
      s->receives.push(r.id);
    }
    if (n == 0) {
      if (posted != 0) break;
      return good ? fabric::fail(Errc::kNoRoom)
                  : fabric::fail(Errc::kBadArgument, "too many slices");
    }
    ibv_recv_wr* bad = nullptr;
    const int error = std::abs(::ibv_post_recv(s->id->qp, chain.data(), &bad));
    const std::size_t done = error == 0 ? n : static_cast<std::size_t>(bad - chain.data());
    ++counters_.receive_posts;
    counters_.receive_requests += done;
    for (std::size_t i = done; i < n; ++i) s->receives.pop_back();
    posted += done;
    if (error != 0) {
      if (posted != 0) break;
      return fabric::fail(error == ENOMEM ? Errc::kNoRoom : Errc::kSystem,
                          fmt::format("a Receive could not be posted: {}", std::strerror(error)));
    }
  }
  return posted;
}

// ----- handles

Expected<fabric::MemoryRegion> Adapter::advertise(Name name, std::uint64_t id,
                                                  const fabric::Memory& memory, std::uint8_t* data,
                                                  std::uint32_t length, fabric::Access access) {
  Slot* const s = find(name);
  if (s == nullptr || s->phase != Phase::kEstablished || s->failing) {
    return fabric::fail(Errc::kNotConnected);
  }
  ibv_mr* const within = device_->registration(memory);
  if (within == nullptr || length == 0 || data < memory.data || length > memory.length ||
      static_cast<std::size_t>(data - memory.data) > memory.length - length) {
    return fabric::fail(Errc::kBadArgument, "not a part of registered memory");
  }
  if (handles_.of(name) >= s->depths.handles) return fabric::fail(Errc::kNoRoom);
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(data);
  if (!handles_.windows()) {
    const int rights = remote_access(access) |
                       (allows(access, fabric::Access::kRemoteWrite) ? IBV_ACCESS_LOCAL_WRITE : 0);
    ibv_mr* const made = handles_.register_memory(name, data, length, rights);
    if (made == nullptr) return fabric::fail(Errc::kNoRoom, std::strerror(errno));
    ++counters_.registrations;
    return fabric::MemoryRegion{made->rkey, offset};
  }
  if (!room_for_send(*s)) return fabric::fail(Errc::kNoRoom);
  if (s->chained == kChain && !post_chain(*s)) return fabric::fail(Errc::kNoRoom);
  const Handles::Window window = handles_.take_window(name);
  if (window.window == nullptr) return fabric::fail(Errc::kNoRoom, std::strerror(errno));
  ibv_send_wr& wr = s->chain[s->chained];
  wr = {};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = window.window;
  wr.bind_mw.rkey = window.handle;
  wr.bind_mw.bind_info.mr = within;
  wr.bind_mw.bind_info.addr = offset;
  wr.bind_mw.bind_info.length = length;
  wr.bind_mw.bind_info.mw_access_flags = static_cast<unsigned>(remote_access(access));
  add_to_chain(*s, {id, Operation::kAdvertise, false, window.handle}, false);
  leave_for_later(*s);
  return fabric::MemoryRegion{window.handle, offset};
}

Expected<void> Adapter::invalidate(Name name, std::uint64_t id, std::uint32_t handle) {
  Slot* const s = find(name);
  if (s == nullptr || s->phase != Phase::kEstablished || s->failing) {
    return fabric::fail(Errc::kNotConnected);
  }
  if (handles_.windows() && !room_for_send(*s)) return fabric::fail(Errc::kNoRoom);
  if (handles_.windows() && s->chained == kChain && !post_chain(*s)) {
    return fabric::fail(Errc::kNoRoom);
  }
  if (!handles_.begin_end(name, handle)) {
    return fabric::fail(Errc::kBadArgument, "there is no such handle on this connection");
  }
  if (!handles_.windows()) {
    (void)handles_.end(name, handle);
    fabric::Completion& c = completions_.next(name);
    c.id = id;
    c.connection = s->cookie;
    c.operation = Operation::kInvalidate;
    completions_.push();
    return {};
  }
  ibv_send_wr& wr = s->chain[s->chained];
  wr = {};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.invalidate_rkey = handle;
  add_to_chain(*s, {id, Operation::kInvalidate, true, handle}, true);
  leave_for_later(*s);
  return {};
}

}  // namespace rpcrdma::verbs
