#include <string_view>

#include <rpcrdma/base/text.h>
#include <rpcrdma/load_agents/messages.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::load_agents {
namespace {

constexpr std::uint32_t kMostTextBytes = 1024;
constexpr std::uint32_t kMostWordBytes = 65536;
constexpr std::uint32_t kMostWords = 4096;

// Runs `write` twice: for the length, and for the bytes.
template <typename Write>
Body written(Write write) {
  wire::XdrWriter dry({});
  write(dry);
  Body body(dry.size());
  wire::XdrWriter out(body);
  write(out);
  return body;
}

void put(wire::XdrWriter& out, std::string_view text, std::uint32_t most) {
  out.opaque(base::as_bytes(text.substr(0, most)));
}

std::string take(wire::XdrReader& in, std::uint32_t most) {
  return std::string(base::as_text(in.opaque(most)));
}

void put_list(wire::XdrWriter& out, const std::vector<std::string>& words) {
  out.u32(static_cast<std::uint32_t>(words.size()));
  for (const std::string& word : words) put(out, word, kMostWordBytes);
}

std::vector<std::string> take_list(wire::XdrReader& in) {
  const std::uint32_t count = in.u32();
  // Each word takes four bytes at least.
  if (count > kMostWords || count > in.remaining() / 4) {
    in.set_failed();
    return {};
  }
  std::vector<std::string> words(count);
  for (std::string& word : words) word = take(in, kMostWordBytes);
  return words;
}

std::int64_t take_signed(wire::XdrReader& in) {
  return static_cast<std::int64_t>(in.u64());
}

void put_signed(wire::XdrWriter& out, std::int64_t value) {
  out.u64(static_cast<std::uint64_t>(value));
}

template <typename T>
std::optional<T> whole(const wire::XdrReader& in, T message) {
  if (!in.ok() || in.remaining() != 0) return std::nullopt;
  return message;
}

}  // namespace

Body Hello::encode() const {
  return written([&](wire::XdrWriter& out) {
    out.u32(protocol);
    put(out, version, kMostTextBytes);
    put(out, address, kMostTextBytes);
  });
}
std::optional<Hello> Hello::decode(Bytes body) {
  wire::XdrReader in(body);
  Hello m;
  m.protocol = in.u32();
  m.version = take(in, kMostTextBytes);
  m.address = take(in, kMostTextBytes);
  return whole(in, std::move(m));
}

Body Refusal::encode() const {
  return written([&](wire::XdrWriter& out) { put(out, why, kMostTextBytes); });
}
std::optional<Refusal> Refusal::decode(Bytes body) {
  wire::XdrReader in(body);
  Refusal m{take(in, kMostTextBytes)};
  return whole(in, std::move(m));
}

Body Ping::encode() const {
  return written([&](wire::XdrWriter& out) { out.u64(number); });
}
std::optional<Ping> Ping::decode(Bytes body) {
  wire::XdrReader in(body);
  const Ping m{in.u64()};
  return whole(in, m);
}

Body Pong::encode() const {
  return written([&](wire::XdrWriter& out) {
    out.u64(number);
    put_signed(out, clock);
  });
}
std::optional<Pong> Pong::decode(Bytes body) {
  wire::XdrReader in(body);
  Pong m;
  m.number = in.u64();
  m.clock = take_signed(in);
  return whole(in, m);
}

Body Locate::encode() const {
  return written([&](wire::XdrWriter& out) { put(out, network, kMostTextBytes); });
}
std::optional<Locate> Locate::decode(Bytes body) {
  wire::XdrReader in(body);
  Locate m{take(in, kMostTextBytes)};
  return whole(in, std::move(m));
}

Body Located::encode() const {
  return written([&](wire::XdrWriter& out) { put(out, address, kMostTextBytes); });
}
std::optional<Located> Located::decode(Bytes body) {
  wire::XdrReader in(body);
  Located m{take(in, kMostTextBytes)};
  return whole(in, std::move(m));
}

Body Options::encode() const {
  return written([&](wire::XdrWriter& out) {
    out.u32(rank);
    put(out, name, kMostTextBytes);
    put_list(out, serve);
    put_list(out, words);
  });
}
std::optional<Options> Options::decode(Bytes body) {
  wire::XdrReader in(body);
  Options m;
  m.rank = in.u32();
  m.name = take(in, kMostTextBytes);
  m.serve = take_list(in);
  m.words = take_list(in);
  return whole(in, std::move(m));
}

Body Connect::encode() const {
  return written([&](wire::XdrWriter& out) {
    out.u32(round);
    put_list(out, servers);
    put_signed(out, clock_offset);
    put_signed(out, clock_error);
  });
}
std::optional<Connect> Connect::decode(Bytes body) {
  wire::XdrReader in(body);
  Connect m;
  m.round = in.u32();
  m.servers = take_list(in);
  m.clock_offset = take_signed(in);
  m.clock_error = take_signed(in);
  return whole(in, std::move(m));
}

Body Start::encode() const {
  return written([&](wire::XdrWriter& out) {
    put_signed(out, at);
    put_signed(out, since_first);
  });
}
std::optional<Start> Start::decode(Bytes body) {
  wire::XdrReader in(body);
  Start m;
  m.at = take_signed(in);
  m.since_first = take_signed(in);
  return whole(in, m);
}

}  // namespace rpcrdma::load_agents
