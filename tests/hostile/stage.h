// Our endpoint, which is watched, a scripted peer that breaks rules against it, and other peers
// that do not.
#pragma once

#include "../rules/scene.h"
#include "network.h"
#include "programs.h"
#include "support/scripted_peer.h"
#include "support/service_hosts.h"

#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::hostile {

using scenes::Message;

inline const fabric::Address kOurs = fabric::make_ipv4(192, 0, 2, 1);
inline const fabric::Address kOther = fabric::make_ipv4(192, 0, 2, 2);  // follows all rules
inline const fabric::Address kBad = fabric::make_ipv4(192, 0, 2, 3);

[[nodiscard]] soft::AdapterOptions adapter_at(const fabric::Address& address,
                                              trace::Tracer* tracer = nullptr);

// Makes Calls all the time, less and less often, and checks that they are answered whatever else
// happens.
class OtherClient {
 public:
  OtherClient(Network& network, testing::LoopHost& host, const fabric::Address& server);
  [[nodiscard]] std::size_t answered() const { return echo_.done.size(); }
  [[nodiscard]] bool all_right() const { return echo_.all_right(); }
  void hurry();  // makes frequent Calls again
  void turn();
  void finish();
  [[nodiscard]] bool closed() { return echo_.client().closed(); }

 private:
  Network& network_;
  testing::EchoClient echo_;
  fabric::Time next_ = 0;
  fabric::Time gap_ = 0;
  std::uint32_t seed_ = 0;
  bool finishing_ = false;
};

class Stage {
 public:
  static constexpr std::size_t kReceives = 40;   // on a connection
  static constexpr std::size_t kMemory = 65536;  // maximum size of each part of memory()

  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  // ----- the scripted peer

  // Sends a message unchanged, by Send With Invalidate if it has a handle to invalidate.
  void send(const Message& message);
  void send(const Bytes& content, std::uint32_t invalidate = 0);
  // Returns the next message that it receives.
  [[nodiscard]] Bytes next();
  [[nodiscard]] Message next_message();
  [[nodiscard]] bool anything_came() const { return came_.size() > seen_; }
  // Advertises a part of its memory to our endpoint.
  [[nodiscard]] wire::Segment advertise(std::uint32_t length, std::size_t part = 0);
  [[nodiscard]] std::uint8_t* memory(std::size_t part = 0);
  // RDMA Write to, and Read from, our endpoint's memory; waits for its end unless `at_once`.
  void write(const wire::Segment& to, const Bytes& data, bool at_once = false);
  void read(const wire::Segment& from, bool at_once = false);
  void post_receives(std::size_t receives);
  // Ends its connection, or its earlier ones.
  void disconnect();
  void disconnect_earlier();
  // Its latest connection has ended.
  [[nodiscard]] bool is_down() const { return is_down_; }
  [[nodiscard]] Host& its_host() { return *peer_.provider; }

  // ----- time

  void run_for(fabric::Time time) { network_.run_for(time); }
  // `what`: for a failure message.
  void until(const std::function<bool()>& condition, const char* what);

  // ----- observations of our endpoint

  // Files with the packets of its adapter, and with its trace events.
  [[nodiscard]] const Bytes& packets() const { return tap_.pcapng(); }
  [[nodiscard]] Bytes recording();

 protected:
  Stage();
  // Uses a connection as the scripted peer's, with Receives.
  void take(std::unique_ptr<fabric::Connection> connection, std::size_t receives);

  // In order of dependencies.
  Network network_;
  trace::Tracer tracer_{1, 1U << 22};
  Tap tap_;
  testing::ScriptedPeerOf<Host> peer_;
  std::vector<std::unique_ptr<fabric::Connection>> earlier_;
  bool is_down_ = false;
  std::vector<Bytes> came_;
  std::size_t seen_ = 0;  // number already returned

 private:
  void turn();

  std::size_t done_ = 0, events_ = 0;  // number of completions and events handled
  std::uint64_t receives_ = 0, sends_ = 0, operations_ = 0;
};

}  // namespace rpcrdma::hostile
