// A network in one thread under virtual time, for tests: nodes with addresses, each with a link to
// a non-blocking switch. Its behaviour depends only on the seed, the fault plans and the nodes, so
// runs can be repeated exactly.
//
// A packet passes its sender's faults (dir=out), the sender's link, the switch, the receiver's
// link, the receiver's faults (dir=in), and the ICRC check of a network adapter; then the receiver
// gets it. As on Ethernet, nobody is informed of packets that a link drops.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/time_heap.h>
#include <rpcrdma/soft/fault_gate.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/sim_line.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// A node attached to the network: a core as its driver sees it. After each receive() and expire(),
// the network calls transmit() until there is no more to send, and then deadline().
class SimNode {
 public:
  virtual ~SimNode() = default;

  // BTH through pad bytes; `path.remote` is the sender. The network owns the bytes.
  virtual void receive(const Path& path, wire::Bytes packet, fabric::Time now) = 0;
  // False: nothing to send. The bytes behind `packet` are read before the next call to the node.
  virtual bool transmit(OutPacket& packet, fabric::Time now) = 0;
  // The time of the next expire(), or kNever. After expire(now) it is later than `now`.
  virtual fabric::Time deadline() = 0;
  virtual void expire(fabric::Time now) = 0;
};

// The link between a node and the switch.
struct SimLink {
  SimDirection out{.delay = 5 * fabric::kMicrosecond};
  SimDirection in{};
  FaultPlan faults{};  // use their own seeds, not the network's
};

class SimNetwork {
 public:
  using NodeId = std::uint32_t;  // counts from 0

  explicit SimNetwork(std::uint64_t seed) : seed_(seed) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // The node remains its owner's and must outlive the network, or be removed first. An address
  // belongs to one node at a time: a later node takes it over.
  NodeId add(const fabric::Address& address, SimNode& node, SimLink link = {});
  // Packets in flight to the node are lost.
  void remove(NodeId id);
  // Call it after a call from outside the network that gave the node something to send or changed
  // its deadline. The run_*() functions do this for all nodes first.
  void wake(NodeId id);

  // Applies from now on.
  void change(NodeId id, FaultDirection direction, const SimDirection& to);
  // Packets that the old plan delayed are lost. Must not be called from within a node.
  void set_faults(NodeId id, FaultPlan faults);

  [[nodiscard]] fabric::Time now() const { return now_; }
  // The time of the next event, or kNever.
  [[nodiscard]] fabric::Time next() const;
  // Processes the next event; false: there is none.
  bool step();
  // Runs until `condition()` holds, checked before each event. False: it did not hold by `limit`,
  // which is now the time, or there are no more events.
  template <typename Condition>
  bool run_until(Condition condition, fabric::Time limit) {
    wake_all();
    while (!condition()) {
      if (next() == fabric::kNever || next() > limit) {
        if (limit != fabric::kNever && limit > now_) now_ = limit;
        return false;
      }
      step();
    }
    return true;
  }
  void run_for(fabric::Time time) {
    run_until([] { return false; }, now_ + time);
  }
  // Runs until there are no more events; the time is then that of the last. False: there are still
  // events after `limit`.
  bool run_until_idle(fabric::Time limit);

  struct Counters {
    std::uint64_t events = 0;
    std::uint64_t delivered = 0;   // packets that a node received
    std::uint64_t icrc_drops = 0;  // packets dropped for a wrong ICRC
    std::uint64_t unroutable = 0;  // to an address without node
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const SimCounters& counters(NodeId id, FaultDirection direction) const;
  [[nodiscard]] const FaultGate& faults(NodeId id) const { return nodes_[id].gate; }
  // A hash of everything sent, lost and delivered, and when: equal for equal runs.
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_; }

 private:
  struct Attached {
    SimNode* node;  // null: removed
    fabric::Address address;
    SimLine out;
    SimLine in;
    FaultGate gate;
  };
  // In flight between a node and the switch, in either direction.
  struct Packet {
    Path path;  // the sender's
    std::vector<std::uint8_t> datagram;
    NodeId to = 0;
    bool switched = false;
  };
  enum class Note : std::uint8_t { kSent, kDropped, kDelivered, kIcrc, kUnroutable };

  void wake_all();
  void run_node(NodeId id);
  void pump(NodeId id);
  void send(NodeId id, const OutPacket& packet);
  void go(NodeId id, FaultDirection direction, const Path& path, wire::Bytes datagram);
  void onto_line(NodeId id, SimLine& line, std::uint32_t slot);
  void on_switch(std::uint32_t slot);
  void on_arrival(std::uint32_t slot);
  void deliver(NodeId id, const Path& path, wire::Bytes datagram);

  std::uint32_t new_slot();
  std::uint32_t copy_of(const Path& path, wire::Bytes datagram);
  void free_slot(std::uint32_t slot) { free_.push_back(slot); }
  void note(Note what, NodeId id, wire::Bytes datagram);

  std::uint64_t seed_;
  fabric::Time now_ = 0;
  std::deque<Attached> nodes_;
  std::map<fabric::Address, NodeId> by_address_;
  std::deque<Packet> packets_;  // slots
  std::vector<std::uint32_t> free_;
  std::vector<std::uint8_t> frame_;
  fabric::TimeHeap under_way_;  // slots
  fabric::TimeHeap timers_;     // nodes
  Counters counters_;
  std::uint64_t trace_ = 0;
};

}  // namespace rpcrdma::soft
