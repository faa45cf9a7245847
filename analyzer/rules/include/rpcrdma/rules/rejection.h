// A refused connection: the private data of the REJ, and what to do about its reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::rules {

// Returns the private data of a REJ in words: text in quotes, the fields of RFC 8797, a number, or
// hexadecimal digits; empty if there is none.
[[nodiscard]] std::string rejection_data(std::span<const std::uint8_t> data);

// "consumer reject; private data \"too many connections\"". `c` is kRejected.
[[nodiscard]] std::string rejection_text(const roce::Connection& c);

// Returns what the reason of a REJ means for this service, "nothing listens on port 20049"; empty
// if its name says enough.
[[nodiscard]] std::string rejection_meaning(std::uint16_t reason, std::uint64_t service_id);

// Returns what to do about the REJ that refused `c`: a constant.
[[nodiscard]] const char* rejection_advice(const roce::Connection& c);

}  // namespace rpcrdma::rules
