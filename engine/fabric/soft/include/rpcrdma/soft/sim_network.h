// A network in one thread under virtual time, for tests: nodes with addresses, each with a link to
// a switch that is never busy. What happens follows from the seed, the plans of faults and the
// nodes alone, so a run can be repeated exactly.
//
// A packet passes: its sender's faults (dir=out), the sender's link, the switch, the receiver's
// link, the receiver's faults (dir=in), the check of the ICRC as a network adapter does it, and
// then comes to the receiver. As on Ethernet, what its link drops nobody is told of.
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

// What is attached to the network: a core as its driver sees it. The network calls transmit() until
// there is nothing more, and asks for the deadline, after each call of receive() and expire().
class SimNode {
 public:
  virtual ~SimNode() = default;

  // BTH through pad bytes; `path.remote` is the sender. The bytes are the network's.
  virtual void receive(const Path& path, wire::Bytes packet, fabric::Time now) = 0;
  // False: there is none. What `packet` points to is read before the node is called again.
  virtual bool transmit(OutPacket& packet, fabric::Time now) = 0;
  // When expire() has something to do; kNever. After expire(now) it is later than `now`.
  virtual fabric::Time deadline() = 0;
  virtual void expire(fabric::Time now) = 0;
};

// Of a node, to and from the switch.
struct SimLink {
  SimDirection out{.delay = 5 * fabric::kMicrosecond};
  SimDirection in{};
  FaultPlan faults{};  // draw by their own seeds, not by the network's
};

class SimNetwork {
 public:
  using NodeId = std::uint32_t;  // counts from 0

  explicit SimNetwork(std::uint64_t seed) : seed_(seed) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // The node stays its owner's and must live until it is removed or the network is gone. An address
  // belongs to one node at a time: a later one takes it over.
  NodeId add(const fabric::Address& address, SimNode& node, SimLink link = {});
  // What is under way to it is lost.
  void remove(NodeId id);
  // The node has got something to send, or another deadline, by a call that was not the network's.
  // The run_*() functions begin with this for all nodes.
  void wake(NodeId id);

  // From now on.
  void change(NodeId id, FaultDirection direction, const SimDirection& to);
  // What the old plan keeps back is lost. Not from within a call of a node.
  void set_faults(NodeId id, FaultPlan faults);

  [[nodiscard]] fabric::Time now() const { return now_; }
  // When the next event is; kNever.
  [[nodiscard]] fabric::Time next() const;
  // Lets the next event happen; false: there is none.
  bool step();
  // Runs until `condition()` holds, which is asked before each event. False: it did not until
  // `limit`, which it is now, or nothing happens any more.
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
  // Until nothing happens any more, which is when the last event was; false: something still does
  // after `limit`.
  bool run_until_idle(fabric::Time limit);

  struct Counters {
    std::uint64_t events = 0;
    std::uint64_t delivered = 0;   // packets that came to a node
    std::uint64_t icrc_drops = 0;  // that did not since their ICRC is wrong
    std::uint64_t unroutable = 0;  // to an address that nobody has
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const SimCounters& counters(NodeId id, FaultDirection direction) const;
  [[nodiscard]] const FaultGate& faults(NodeId id) const { return nodes_[id].gate; }
  // Of all that was sent, lost and delivered, and when: the same for runs that were the same.
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_; }

 private:
  struct Attached {
    SimNode* node;  // null: removed
    fabric::Address address;
    SimLine out;
    SimLine in;
    FaultGate gate;
  };
  // On its way between a node and the switch, either way.
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
