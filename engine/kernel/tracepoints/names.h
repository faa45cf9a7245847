// Names that tracepoints print, and numbers that they stand for.
#pragma once

#include "message.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

// The program and procedure of a client's task, from the names that its kernel gives them. Unknown
// if the name is not one of them: a program may have procedures of the same name.
[[nodiscard]] RpcProcedure procedure_of(std::string_view program, std::uint32_t version,
                                        std::string_view procedure);
// The program that a server's process names so; 0: unknown.
[[nodiscard]] std::uint32_t program_of_service(std::string_view service);

// "connection refused", of a negative errno.
[[nodiscard]] std::string errno_text(std::int64_t negative);

struct Address {
  std::array<std::uint8_t, 16> bytes{};  // IPv4 mapped
  std::uint16_t port = 0;
  bool known = false;
  friend bool operator==(const Address&, const Address&) = default;
};
// Text: "10.0.0.1", "fe80::1", with or without port: "10.0.0.1:20049", "[fe80::1]:20049".
[[nodiscard]] Address address_of_text(std::string_view text);
// A field that is a socket address.
[[nodiscard]] Address socket_address(const Record& record, Field field);
// The fields addr and port of the client's tracepoints.
[[nodiscard]] Address peer_address(const Record& record);
[[nodiscard]] std::string address_text(const Address& address);

}  // namespace rpcrdma::tracepoints
