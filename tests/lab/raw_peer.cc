// Scripted client or server on the soft fabric: sends the bytes that it reads as lines on its input
// unchanged, and prints events as lines on its output. With it, a script can send messages that our
// clients and servers never send.
//
//   raw_peer OWN-ADDRESS SERVER [PORT]
//   raw_peer OWN-ADDRESS listen [PORT]   one client after the other
//
// send HEX          sends these bytes in a Send
// put OFFSET HEX    writes into the memory that the server may read and write
// get OFFSET COUNT  prints `got HEX` from that memory
//
// close             disconnects
//
// Output: `listening`, `established HEX` (the peer's private data), `memory HANDLE OFFSET LENGTH`,
// `received HEX` for each message, `failed WHAT` for a work request, `disconnected WHY`. Exits at
// the end of its input; a client also after its connection.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/soft/provider.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma {
namespace {

constexpr std::size_t kSlot = 4096;  // maximum length of a message, in both directions
constexpr std::size_t kReceives = 64;
constexpr std::size_t kSends = 64;
constexpr std::size_t kShared = 64U << 10;
constexpr std::size_t kSharedAt = (kReceives + kSends) * kSlot;

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::uint8_t> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) return std::nullopt;
  }
  return bytes;
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

class RawPeer {
 public:
  // Returns false after printing the reason.
  bool open(std::string_view own, std::string_view server, std::uint16_t port) {
    const auto from = fabric::parse_address(own);
    listens_ = server == "listen";
    const auto to = fabric::parse_address(listens_ ? own : server);
    if (!from || !to) return fail("invalid address");
    soft::ProviderOptions options;
    options.adapter.address = *from;
    auto opened = soft::SoftProvider::open(options);
    if (!opened) return fail(opened.error().message);
    provider_ = std::move(*opened);
    auto memory = provider_->register_memory(buffer_);
    if (!memory) return fail(memory.error().message);
    memory_ = *memory;
    wire::PrivateData offer;
    offer.send_code = offer.recv_code = wire::inline_size_code(kSlot);
    private_data_ = wire::encode_private_data(offer);
    if (listens_) {
      auto listener = provider_->listen(port, 0);
      if (!listener) return fail(listener.error().message);
      listener_ = std::move(*listener);
      say("listening");
      return true;
    }
    fabric::ConnectionOptions wanted;
    wanted.private_data = private_data_;
    auto connection = provider_->connect(*to, port, wanted);
    if (!connection) return fail(connection.error().message);
    connection_ = std::move(*connection);
    for (std::size_t i = 0; i < kReceives; ++i) receive(i);
    return true;
  }

  void run() {
    while (!ended_) {
      provider_->progress();
      fabric::Event event;
      while (provider_->poll(event)) happened(event);
      std::array<fabric::Completion, 16> done;
      const std::size_t n = provider_->poll(done);
      for (std::size_t i = 0; i < n; ++i) completed(done[i]);
      if (n != 0 || ended_ || !provider_->arm()) continue;
      // A client sends nothing before the connection is established.
      std::array<pollfd, 2> fds{pollfd{provider_->fd(), POLLIN, 0},
                                pollfd{established_ || listens_ ? 0 : -1, POLLIN, 0}};
      ::poll(fds.data(), fds.size(), -1);
      if (fds[1].revents != 0) read_input();
    }
  }

 private:
  static bool fail(const std::string& why) {
    say("failed " + why);
    return false;
  }
  fabric::Slice slice(std::size_t at, std::size_t length) {
    return {buffer_.data() + at, static_cast<std::uint32_t>(length), memory_.local_key};
  }
  void receive(std::size_t slot) {
    const fabric::Slice s = slice(slot * kSlot, kSlot);
    const fabric::ReceiveRequest request{slot, {&s, 1}};
    if (!connection_->post_receive({&request, 1})) fail("cannot post a Receive");
  }

  void accept(fabric::Event& event) {
    connection_ = std::move(event.request);
    fabric::ConnectionOptions wanted;
    wanted.private_data = private_data_;
    for (std::size_t i = 0; i < kReceives; ++i) receive(i);
    if (const auto accepted = connection_->accept(wanted); !accepted)
      fail(accepted.error().message);
    peers_private_data_ = std::move(event.private_data);
  }

  void happened(fabric::Event& event) {
    switch (event.type) {
      case fabric::EventType::kRequest:
        accept(event);
        break;
      case fabric::EventType::kEstablished: {
        established_ = true;
        say("established " + hex(listens_ ? peers_private_data_ : event.private_data));
        if (listens_) break;
        const auto shared =
            connection_->advertise(0, memory_, buffer_.data() + kSharedAt, kShared,
                                   fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite);
        if (shared) {
          say(fmt::format("memory {} {} {}", shared->handle, shared->offset, kShared));
        } else {
          fail(shared.error().message);
        }
        break;
      }
      default:
        say(fmt::format("disconnected {} {}", fabric::event_name(event.type), event.reason));
        established_ = false;
        connection_.reset();
        ended_ = !listens_;
    }
  }
  void completed(const fabric::Completion& c) {
    if (c.status != fabric::Status::kSuccess) {
      if (c.status != fabric::Status::kFlushed) {
        fail(fmt::format("{}: {}", fabric::operation_name(c.operation),
                         fabric::status_name(c.status)));
      }
    } else if (c.operation == fabric::Operation::kReceive) {
      say("received " + hex({buffer_.data() + c.id * kSlot, c.bytes}));
      receive(c.id);
    }
  }

  void read_input() {
    std::array<char, 4096> some;
    const ssize_t n = ::read(0, some.data(), some.size());
    if (n <= 0) {
      ended_ = true;
      return;
    }
    input_.append(some.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = input_.find('\n')) != std::string::npos;
         input_.erase(0, end + 1)) {
      if (!obey(std::string_view(input_).substr(0, end)))
        fail("not understood: " + input_.substr(0, end));
    }
  }
  bool obey(std::string_view line) {
    std::array<std::string_view, 3> word;
    for (std::string_view& w : word) {
      const std::size_t end = std::min(line.find(' '), line.size());
      w = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    if (word[0] == "close") {
      if (connection_) connection_->disconnect();
      return true;
    }
    if (word[0] == "send") {
      const auto bytes = parse_hex(word[1]);
      return bytes && bytes->size() <= kSlot && send(*bytes);
    }
    std::size_t offset = 0;
    std::from_chars(word[1].data(), word[1].data() + word[1].size(), offset);
    if (word[0] == "put") {
      const auto bytes = parse_hex(word[2]);
      if (!bytes || offset > kShared || bytes->size() > kShared - offset) return false;
      std::copy(bytes->begin(), bytes->end(), buffer_.data() + kSharedAt + offset);
      return true;
    }
    std::size_t count = 0;
    std::from_chars(word[2].data(), word[2].data() + word[2].size(), count);
    if (word[0] != "get" || offset > kShared || count > kShared - offset) return false;
    say("got " + hex({buffer_.data() + kSharedAt + offset, count}));
    return true;
  }
  bool send(std::span<const std::uint8_t> bytes) {
    if (!connection_) return true;  // the client has gone
    const std::size_t at = (kReceives + sent_++ % kSends) * kSlot;
    std::copy(bytes.begin(), bytes.end(), buffer_.data() + at);
    const fabric::Slice s = slice(at, bytes.size());
    fabric::SendRequest request;
    request.local = {&s, 1};
    return connection_->post_send({&request, 1}).has_value();
  }

  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(kSharedAt + kShared);
  std::unique_ptr<soft::SoftProvider> provider_;
  fabric::Memory memory_;
  std::unique_ptr<fabric::Listener> listener_;
  std::unique_ptr<fabric::Connection> connection_;
  std::array<std::uint8_t, wire::kPrivateDataBytes> private_data_{};
  std::vector<std::uint8_t> peers_private_data_;  // of the client
  std::string input_;
  std::size_t sent_ = 0;
  bool listens_ = false;
  bool established_ = false;
  bool ended_ = false;
};

}  // namespace
}  // namespace rpcrdma

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: raw_peer OWN-ADDRESS SERVER|listen [PORT]\n", stderr);
    return 2;
  }
  const std::string_view port_text = argc > 3 ? argv[3] : "20049";
  std::uint16_t port = 0;
  std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  rpcrdma::RawPeer peer;
  if (!peer.open(argv[1], argv[2], port)) return 1;
  peer.run();
}
