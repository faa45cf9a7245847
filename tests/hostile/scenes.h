// Helpers for scenes of several sections.
#pragma once

#include "../rules/bodies.h"
#include "../rules/message.h"
#include "matrix.h"

namespace rpcrdma::hostile {

// Returns the message with one byte changed.
[[nodiscard]] inline Bytes with_byte(const Message& message, std::size_t at, std::uint8_t value) {
  Bytes content = scenes::encode(message);
  content[at] = value;
  return content;
}

[[nodiscard]] inline Bytes longer(Bytes content, std::size_t bytes = 4) {
  content.resize(content.size() + bytes);
  return content;
}

// Returns a Call of the echo program that is answered after five milliseconds.
[[nodiscard]] inline Message sleeping_call(std::uint32_t xid) {
  constexpr std::uint32_t kMicroseconds = 5000;
  return scenes::call(xid, scenes::rpc_call(xid, service::echo::kProgram, service::echo::kVersion,
                                            static_cast<std::uint32_t>(service::echo::Proc::kSleep),
                                            scenes::Xdr().u32(kMicroseconds).bytes()));
}

// More bytes of data than fit inline.
inline constexpr std::uint32_t kLongCount = 8000;

// Returns a plain Call with this many bytes of arguments.
[[nodiscard]] inline Message long_call(std::uint32_t xid, std::size_t arguments) {
  return scenes::call(xid,
                      scenes::rpc_call(xid, scenes::kPlainProgram, 1, 1, Bytes(arguments, 0x11)));
}

// A client sends this after one answered Call, and nothing more.
[[nodiscard]] inline auto client_sends(Bytes content) {
  return [content](AgainstServer& s) {
    s.connect();
    s.exchange();
    s.send(content);
  };
}
[[nodiscard]] inline auto client_sends(const Message& message) {
  return client_sends(scenes::encode(message));
}

// A server that has answered one Call answers the next with the result of `with`.
template <typename With>
[[nodiscard]] auto server_answers(With with) {
  return [with](AgainstClient& s) {
    s.accept();
    s.exchange();
    s.send(with(s.call()));
  };
}

// The same, followed by a valid answer.
template <typename With>
[[nodiscard]] auto server_first_sends(With with) {
  return [with](AgainstClient& s) {
    s.accept();
    s.exchange();
    const Message call = s.call();
    s.send(with(call));
    s.send(AgainstClient::reply_to(call));
  };
}

}  // namespace rpcrdma::hostile
