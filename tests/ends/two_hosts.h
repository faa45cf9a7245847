// A client and a server in network namespaces of their own, a wire between them that delays what a
// test asks it to, and recordings of both ends and of the wire at the client.
#pragma once

#include "support/background.h"
#include "support/command.h"
#include "support/delaying_wire.h"
#include "support/hosts_on_a_bridge.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {

class TwoHosts {
 public:
  static constexpr std::size_t kClient = 0, kServer = 1;

  // False: this machine does not permit it.
  bool make() {
    static const bool entered = HostsOnABridge::enter();
    // The namespaces of an earlier test may live a little longer than its processes.
    return entered &&
           std::system("ip link del veth0 2>/dev/null; ip link del veth1 2>/dev/null; true") == 0 &&
           hosts_.add() && hosts_.add() &&
           std::system("ip link set veth0 nomaster && ip link set veth1 nomaster") == 0;
  }

  void connect(DelayingWire::Rule rule) {
    wire_ = std::make_unique<DelayingWire>("veth0", "veth1", std::move(rule));
    ASSERT_TRUE(wire_->is_open());
  }
  DelayingWire& wire() { return *wire_; }

  // The command `rpcrdma` in the namespace of a host.
  std::unique_ptr<Background> start(std::size_t host, const std::string& arguments) const {
    return std::make_unique<Background>(
        std::vector<std::string>{"-t", std::to_string(hosts_.holder(host)), "-n", "sh", "-c",
                                 "exec " RPCRDMA_COMMAND " " + arguments},
        "", "nsenter");
  }

  // Serves and loads; `during` is called while the load runs.
  void run(const std::string& serve, const std::string& load,
           const std::function<void(Background& client)>& during = {}) {
    auto capture = start(kClient, "capture --print --user root -i eth0 -w " + file("wire.pcapng"));
    ASSERT_TRUE(capture->wait_for("istening")) << capture->out;
    auto server = start(kServer, "serve --no-live -l " + HostsOnABridge::address(kServer) +
                                     " --record " + file("server.pcapng") + " " + serve);
    ASSERT_TRUE(server->wait_for("istening")) << server->out;
    auto client = start(kClient, "load --no-live " + HostsOnABridge::address(kServer) + " --from " +
                                     HostsOnABridge::address(kClient) + " --record " +
                                     file("client.pcapng") + " " + load);
    if (during) during(*client);
    ASSERT_EQ(client->finish(), 0) << client->out;
    // The capture has all of it once it shows a later Call.
    auto last = start(kClient, "load --no-live " + HostsOnABridge::address(kServer) + " --from " +
                                   HostsOnABridge::address(kClient) + " --procedure null -c 1");
    ASSERT_EQ(last->finish(), 0) << last->out;
    ASSERT_TRUE(capture->wait_for("ECHO v1 NULL")) << capture->out;
    server->signal(SIGINT);
    ASSERT_EQ(server->finish(), 0) << server->out;
    capture->signal(SIGINT);
    ASSERT_EQ(capture->finish(), 0) << capture->out;
    wire_->stop();
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  HostsOnABridge hosts_;
  std::unique_ptr<DelayingWire> wire_;
};

}  // namespace rpcrdma::e2e
