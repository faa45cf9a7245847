#include "scenes.h"

#include <algorithm>

namespace rpcrdma::hostile {

namespace {

constexpr std::uint32_t kDefault = 1024;

Bytes good() {
  return scenes::private_data(4096, 4096, true);
}

Bytes changed(std::size_t at, std::uint8_t value) {
  Bytes bytes = good();
  bytes[at] = value;
  return bytes;
}

Bytes swapped_magic() {
  Bytes bytes = good();
  std::reverse(bytes.begin(), bytes.begin() + 4);
  return bytes;
}

// The inline threshold that our endpoint then uses, bytes.
auto client_with(const Bytes& private_data, std::uint32_t threshold) {
  return [=](AgainstServer& s) {
    s.connect({.private_data = private_data});
    for (const service::ConnectionInfo& c : s.server->list()) {
      EXPECT_TRUE(c.peer != kBad || c.thresholds.receive == threshold);
    }
    s.send(scenes::call(1));
  };
}

auto server_with(const Bytes& private_data, std::uint32_t threshold) {
  return [=](AgainstClient& s) {
    s.accept({.private_data = private_data});
    s.run_for(fabric::kMillisecond);
    EXPECT_EQ(s.client->info(0).thresholds.send, threshold);
    s.send(AgainstClient::reply_to(s.call()));
  };
}

void add_both(Matrix& to, const char* rule, const std::string& did, const Bytes& private_data,
              std::uint32_t threshold) {
  to.push_back({.rule = rule,
                .did = did,
                .answer = "Reply, SUCCESS",
                .server = client_with(private_data, threshold)});
  to.push_back({.rule = rule,
                .did = did,
                .answer = "its Call is answered",
                .client = server_with(private_data, threshold)});
}

}  // namespace

void add_private_data_scenes(Matrix& to) {
  add_both(to, "CMP-01",
           "connects with private data whose first word has the wrong byte "
           "order: thresholds are 1,024 bytes",
           swapped_magic(), kDefault);
  add_both(to, "CMP-02", "connects with private data of version 2: thresholds are 1,024 bytes",
           changed(4, 2), kDefault);
  add_both(to, "CMP-03", "connects with private data that has a reserved flag set",
           changed(5, 0x81), 4096);
  to.push_back({.rule = "CMP-04",
                .did = "announces a send size of 1,024 bytes, and sends a Call of 1,568",
                .answer = "Reply, SUCCESS",
                .server = [](AgainstServer& s) {
                  s.connect({.private_data = scenes::private_data(1024, 4096, true)});
                  s.exchange();
                  s.send(long_call(2, 1500));
                }});
  service::ServerOptions large;
  large.inline_threshold = 8192;
  to.push_back({.rule = "CMP-05",
                .did = "sends a Call of version 2 of 5,000 bytes, as private data would allow it",
                .answer = "Reply, SUCCESS",
                .server =
                    [](AgainstServer& s) {
                      s.version = 2;
                      s.connect({.private_data = scenes::private_data(8192, 8192, true)});
                      s.exchange();
                      s.send(scenes::version2(long_call(2, 4932)));
                    },
                .server_options = large});
}

}  // namespace rpcrdma::hostile
