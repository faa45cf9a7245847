// All connections of one device and address: connection manager events, posted work and
// completions. It never waits; its owner calls progress() when the descriptors are readable, or in
// a loop.
//
// A connection ends in one place (finish()). The queue pair is destroyed, after which nothing
// accesses its owner's memory any more; then all unfinished work is completed as flushed. So
// nothing depends on whether and how a device flushes.
#pragma once

#include "completion_queues.h"
#include "device.h"
#include "handles.h"
#include "slot.h"

#include <deque>
#include <map>
#include <memory>

#include <rpcrdma/fabric/completions.h>
#include <rpcrdma/fabric/time.h>

namespace rpcrdma::verbs {

struct CmNews {
  fabric::Event event;  // without `request`
  Name name = 0;        // of the connection; 0: none
};

// Which descriptors progress() looks at.
enum class Look : std::uint8_t {
  kNone,
  kAfterSleep,  // the completions'; the others only if that did not wake the owner
  kAll,
};

class Adapter {
 public:
  Adapter(std::unique_ptr<Device> device, trace::Tracer* tracer);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] const Device& device() const { return *device_; }

  // As in fabric::Provider and fabric::Connection.
  [[nodiscard]] fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory);
  void deregister_memory(const fabric::Memory& memory);
  [[nodiscard]] fabric::Expected<void> listen(std::uint16_t port, std::uint64_t cookie);
  void unlisten(std::uint16_t port);
  [[nodiscard]] fabric::Expected<Name> connect(const fabric::Address& peer, std::uint16_t port,
                                               const fabric::ConnectionOptions& options);
  [[nodiscard]] fabric::Expected<void> accept(Name name, const fabric::ConnectionOptions& options);
  [[nodiscard]] fabric::Expected<void> reject(Name name, std::span<const std::uint8_t> data);
  void disconnect(Name name);
  void destroy(Name name);
  [[nodiscard]] fabric::Expected<std::size_t> post_send(
      Name name, std::span<const fabric::SendRequest> requests);
  [[nodiscard]] std::uint32_t copied_send(Name name);
  [[nodiscard]] fabric::Expected<std::size_t> post_receive(
      Name name, std::span<const fabric::ReceiveRequest> requests);
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(Name name, std::uint64_t id,
                                                                 const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  [[nodiscard]] fabric::Expected<void> invalidate(Name name, std::uint64_t id,
                                                  std::uint32_t handle);

  // Processes completions, and the events of the descriptors, which costs system calls.
  void progress(Look look);
  // Makes the descriptors report everything that happens next. False: there is already something to
  // do.
  [[nodiscard]] bool arm();
  // The descriptors of connection manager, completions and device.
  [[nodiscard]] std::array<int, 3> descriptors() const;

  [[nodiscard]] std::size_t poll(std::span<fabric::Completion> completions) {
    return completions_.poll(completions);
  }
  [[nodiscard]] bool poll(CmNews& news);
  [[nodiscard]] const WorkCounters& counters() const { return counters_; }

 private:
  struct Listening {
    Owned<rdma_cm_id> id;
    std::uint64_t cookie = 0;
  };
  struct End {
    CmNews news;
    std::uint64_t after = 0;  // polled completions before this event
  };
  // A copy of a connection manager event. The event itself is acknowledged at once, since its ID
  // cannot be destroyed before.
  struct CmEvent {
    rdma_cm_event_type type = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::uint16_t listener = 0;
    std::uint8_t responder_resources = 0, initiator_depth = 0;
    std::uint32_t qpn = 0;
    std::vector<std::uint8_t> private_data;
  };

  void look_at_descriptors();
  void trace_registration(const fabric::Memory& memory, bool begun) const;

  // Slots.
  [[nodiscard]] Slot* find(Name name);
  [[nodiscard]] Name name_of(const Slot& slot) const;
  [[nodiscard]] Slot* take_slot();
  void free_slot(Slot& slot);
  [[nodiscard]] Slot* slot_of(const rdma_cm_id* id);

  // Connection management (adapter_cm.cc).
  void read_cm_events();
  void on_cm(CmEvent& e);
  void on_request(CmEvent& e);
  [[nodiscard]] bool resolve_again(Slot& slot);
  void on_route(Slot& slot);
  void established(Slot& slot, CmEvent* e);
  void read_device_events();
  void on_device_event(const ibv_async_event& e);
  void lose(const std::string& why);
  [[nodiscard]] fabric::Expected<void> make_queue_pair(Slot& slot);
  void fill_from_options(Slot& slot, const fabric::ConnectionOptions& options);
  [[nodiscard]] CmNews& emit(fabric::EventType type, const Slot& slot);
  [[nodiscard]] CmNews& queue_end(fabric::EventType type, const Slot& slot);
  // Returns null if the connection had already ended, or its owner has not accepted it yet.
  CmNews* finish(Slot& slot, fabric::EventType type, std::string reason);
  void stop(Slot& slot);

  // Work (adapter_work.cc).
  void poll(int batches);
  void on_completion(const ibv_wc& wc);
  void on_sent(Slot& slot, const ibv_wc& wc, const WorkName& work);
  void on_received(Slot& slot, const ibv_wc& wc, const WorkName& work);
  void flush_unfinished(Slot& slot);
  void fail(Slot& slot, const std::string& reason);
  void finish_failed();
  // Adds a work request to the chain, which must have room.
  ibv_send_wr& add_to_chain(Slot& slot, const SendWork& work, bool signaled);
  // Posts the chain. False: `slot.chained` of its work requests were not posted.
  [[nodiscard]] bool post_chain(Slot& slot);
  [[nodiscard]] bool room_for_send(const Slot& slot) const {
    return slot.sends.size() < slot.send_room;
  }
  void leave_for_later(Slot& slot);
  void post_waiting();
  [[nodiscard]] fabric::Expected<void> check(const fabric::SendRequest& request) const;
  [[nodiscard]] fabric::Expected<std::size_t> post_held(
      Slot& slot, std::span<const fabric::ReceiveRequest> requests);

  std::unique_ptr<Device> device_;
  trace::Tracer* const tracer_;
  CompletionQueues queues_;
  Handles handles_;
  fabric::Completions completions_;
  std::deque<CmNews> events_;
  std::deque<End> ends_;
  std::map<std::uint16_t, Listening> listeners_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Name> failing_, finishing_;
  std::vector<Name> dirty_;
  std::size_t lingering_ = 0;
  bool lost_ = false;
  std::array<Sges, kChain> sges_;
  WorkCounters counters_;
};

}  // namespace rpcrdma::verbs
