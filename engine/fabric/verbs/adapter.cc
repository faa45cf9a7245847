#include "adapter.h"

#include <algorithm>
#include <climits>

#include <poll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::verbs {

using fabric::Errc;
using fabric::Expected;

namespace {

constexpr unsigned kGenerationBits = 8;
constexpr std::size_t kMostSlots = 1U << 16;

}  // namespace

Adapter::Adapter(std::unique_ptr<Device> device, trace::Tracer* tracer)
    : device_(std::move(device)),
      tracer_(tracer),
      queues_(device_->context(), device_->completions(), device_->abilities().completions),
      handles_(device_->domain(), device_->abilities().windows) {}

Adapter::~Adapter() {
  for (const auto& slot : slots_) {
    if (slot->alive()) stop(*slot);
    if (slot->id != nullptr) (void)::rdma_destroy_id(slot->id);
  }
}

Expected<fabric::Memory> Adapter::register_memory(std::span<std::uint8_t> memory) {
  auto registered = device_->register_memory(memory);
  ++counters_.pool_registrations;
  if (registered && trace::on(tracer_)) trace_registration(*registered, true);
  return registered;
}

void Adapter::deregister_memory(const fabric::Memory& memory) {
  device_->deregister_memory(memory);
  if (trace::on(tracer_)) trace_registration(memory, false);
}

void Adapter::trace_registration(const fabric::Memory& memory, bool begun) const {
  trace::Registration event;
  event.address = reinterpret_cast<std::uintptr_t>(memory.data);
  event.length = memory.length;
  event.begun = begun ? 1 : 0;
  tracer_->emit(0, base::monotonic_ns(), event);
}

Slot* Adapter::find(Name name) {
  const std::uint32_t index = name >> kGenerationBits;
  if (index >= slots_.size()) return nullptr;
  Slot& s = *slots_[index];
  return s.phase != Phase::kFree && name_of(s) == name ? &s : nullptr;
}

Name Adapter::name_of(const Slot& slot) const {
  return slot.index << kGenerationBits | slot.generation;
}

Slot* Adapter::take_slot() {
  if (free_.empty()) {
    if (slots_.size() == kMostSlots) return nullptr;
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->index = static_cast<std::uint32_t>(slots_.size() - 1);
    free_.push_back(slots_.back()->index);
  }
  Slot& s = *slots_[free_.back()];
  free_.pop_back();
  const std::uint32_t index = s.index;
  const auto generation = static_cast<std::uint8_t>(s.generation + 1);
  s = Slot();
  s.index = index;
  s.generation = generation == 0 ? 1 : generation;
  return &s;
}

void Adapter::free_slot(Slot& slot) {
  if (slot.id != nullptr) (void)::rdma_destroy_id(slot.id);
  slot.id = nullptr;
  if (slot.phase == Phase::kLingering) --lingering_;
  slot.phase = Phase::kFree;
  slot.held = {};
  free_.push_back(slot.index);
}

Slot* Adapter::slot_of(const rdma_cm_id* id) {
  return find(static_cast<Name>(reinterpret_cast<std::uintptr_t>(id->context)));
}

std::array<int, 3> Adapter::descriptors() const {
  return {device_->events()->fd, device_->completions()->fd, device_->context()->async_fd};
}

void Adapter::progress(Look look) {
  post_waiting();
  // Mostly a completion ended the sleep, and its event takes one system call. What else is there
  // ends the next sleep at once.
  const bool woken = look == Look::kAfterSleep && queues_.take_events();
  if (look != Look::kNone && !woken) look_at_descriptors();
  constexpr int kBatchesAtOnce = 4;
  poll(kBatchesAtOnce);
  if (failing_.empty()) return;
  // Their events may explain the failure better.
  read_device_events();
  read_cm_events();
  finish_failed();
}

void Adapter::look_at_descriptors() {
  const std::array<int, 3> fds = descriptors();
  std::array<pollfd, 3> ready{};
  for (std::size_t i = 0; i < fds.size(); ++i) ready[i] = {fds[i], POLLIN, 0};
  if (::poll(ready.data(), ready.size(), 0) <= 0) return;
  if (ready[1].revents != 0) (void)queues_.take_events();
  // Process what completed before a connection's end before the end itself.
  poll(INT_MAX);
  if (ready[0].revents != 0) read_cm_events();
  if (ready[2].revents != 0) read_device_events();
}

bool Adapter::arm() {
  post_waiting();
  const auto anything = [&] {
    return !completions_.empty() || !events_.empty() || !ends_.empty() || !failing_.empty();
  };
  // A look at the queues costs less than a notification that is not needed.
  poll(INT_MAX);
  if (anything()) return false;
  counters_.notifications += queues_.arm();
  poll(INT_MAX);
  return !anything();
}

bool Adapter::poll(CmNews& news) {
  if (!events_.empty()) {
    news = std::move(events_.front());
    events_.pop_front();
    return true;
  }
  if (ends_.empty() || ends_.front().after > completions_.taken()) return false;
  news = std::move(ends_.front().news);
  ends_.pop_front();
  return true;
}

}  // namespace rpcrdma::verbs
