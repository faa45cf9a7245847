#include "registry.h"

#include <algorithm>
#include <optional>

namespace rpcrdma::scenes {

namespace {

auto with(Bytes client_private) {
  return [client_private](Scene& s) {
    ConnectOptions options;
    options.client_private = client_private;
    s.connect(options).exchange(1);
  };
}

auto changed(std::size_t at, std::uint8_t value) {
  Bytes bytes = private_data(4096, 4096, true);
  bytes[at] = value;
  return with(bytes);
}

Bytes swapped_magic() {
  Bytes bytes = private_data(4096, 4096, true);
  std::reverse(bytes.begin(), bytes.begin() + 4);
  return bytes;
}

// A Call longer than 1024 bytes by a client that announced this send size.
auto reported(std::uint32_t send_size) {
  return [send_size](Scene& s) {
    ConnectOptions options;
    options.client_private = private_data(send_size, 4096, true);
    Connection& c = s.connect(options);
    c.call(call(1, rpc_call(1, kPlainProgram, 1, 1, Bytes(1500, 0x11))));
    c.reply(reply(1));
  };
}

auto version2_call(std::size_t arguments) {
  return [arguments](Scene& s) {
    ConnectOptions options;
    options.client_private = options.server_private = private_data(8192, 8192, true);
    Connection& c = s.connect(options);
    c.call(version2(call(1)));
    c.reply(version2(reply(1)));
    c.call(version2(call(2, rpc_call(2, kPlainProgram, 1, 1, Bytes(arguments, 0x11)))));
    c.reply(version2(reply(2)));
  };
}

}  // namespace

void add_private_data_scenes(Scenes& scenes) {
  const auto good = with(private_data(4096, 4096, true));
  scenes.push_back({.rule = "CMP-01",
                    .guilty = Guilty::kClient,
                    .breaks = with(swapped_magic()),
                    .keeps = good});
  // Private data of another service.
  scenes.push_back({.rule = "CMP-01",
                    .guilty = Guilty::kClient,
                    .breaks = with(Bytes{'h', 'e', 'l', 'l', 'o', ' ', '1', '2'}),
                    .keeps = with({}),
                    .variant = "foreign"});
  scenes.push_back(
      {.rule = "CMP-02", .guilty = Guilty::kClient, .breaks = changed(4, 2), .keeps = good});
  scenes.push_back(
      {.rule = "CMP-03", .guilty = Guilty::kClient, .breaks = changed(5, 0x81), .keeps = good});
  // No message was sent, or none could be sent.
  const auto silent = [](std::uint8_t flags, std::optional<std::uint16_t> reject) {
    return [flags, reject](Scene& s) {
      ConnectOptions options;
      options.client_private[5] = flags;
      options.reject = reject;
      Connection& c = s.connect(options);
      if (!reject) c.disconnect();
    };
  };
  scenes.push_back({.rule = "CMP-03",
                    .guilty = Guilty::kClient,
                    .breaks = silent(0x81, std::nullopt),
                    .keeps = silent(1, std::nullopt),
                    .both = {"CAPTURE"},
                    .variant = "silent"});
  scenes.push_back({.rule = "CMP-03",
                    .guilty = Guilty::kClient,
                    .breaks = silent(0x81, 28),
                    .keeps = silent(1, 28),
                    .both = {"CONN-LOST"},
                    .variant = "rejected"});
  scenes.push_back({.rule = "CMP-04",
                    .guilty = Guilty::kClient,
                    .breaks = reported(1024),
                    .keeps = reported(2048)});
  scenes.push_back({.rule = "CMP-05",
                    .guilty = Guilty::kClient,
                    .breaks = version2_call(5000),
                    .keeps = version2_call(3900)});
}

}  // namespace rpcrdma::scenes
