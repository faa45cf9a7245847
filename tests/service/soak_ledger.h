// The program of the soak: ADD is not idempotent, and each Call of it has a number of its own, so
// that a second execution and the Reply of another Call are noticed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <rpcrdma/service/program.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::testing {

inline constexpr std::uint32_t kSoakProgram = 0x20000078;
inline constexpr std::uint32_t kSoakAdd = 1;
inline constexpr std::uint32_t kSoakBulk = 16 << 10;  // most bytes of an argument or result
inline constexpr std::uint32_t kSoakList = 8 << 10;   // most bytes of a result that is not eligible

// What one ADD carries.
struct SoakAdd {
  std::uint32_t id = 0;        // counts from 0 over the whole soak
  std::uint32_t argument = 0;  // bytes of the DDP-eligible argument
  std::uint32_t result = 0;    // of the DDP-eligible result
  std::uint32_t list = 0;      // of a result that is not eligible
};

inline std::uint8_t soak_byte(std::uint32_t id, std::uint32_t i) {
  return static_cast<std::uint8_t>((id * 2654435761U >> 13U) + i * 7);
}
inline void fill_soak(std::uint32_t id, std::span<std::uint8_t> bytes) {
  for (std::uint32_t i = 0; i < bytes.size(); ++i) bytes[i] = soak_byte(id, i);
}
inline bool is_soak(std::uint32_t id, wire::Bytes bytes) {
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != soak_byte(id, i)) return false;
  }
  return true;
}

// The state of all ADDs, over all restarts of the server.
struct SoakBooks {
  explicit SoakBooks(std::uint32_t kept) : keeps(kept) {}

  // By id: the number of this execution among all, from 1; 0: not executed by the present server.
  std::vector<std::uint32_t> executed;
  std::vector<bool> ever;     // by any server
  const std::uint32_t keeps;  // a server promises to know at least this many executed Calls
  std::uint32_t executions = 0;
  std::uint64_t repeated = 0;   // executed twice by one server that must have known
  std::uint64_t forgotten = 0;  // executed twice, so much later that the cache need not know
  std::uint64_t wrong_arguments = 0;

  void execute(std::uint32_t id) {
    if (id >= executed.size()) {
      executed.resize(id + 1);
      ever.resize(id + 1);
    }
    if (executed[id] != 0) ++(executions - executed[id] < keeps ? repeated : forgotten);
    executed[id] = ++executions;
    ever[id] = true;
  }
  // A new server knows nothing of the old one's Calls.
  void restart() { executed.assign(executed.size(), 0); }
};

class SoakLedger : public service::Program {
 public:
  explicit SoakLedger(SoakBooks& books)
      : Program(kSoakProgram, 1, "soak",
                {{kSoakAdd, "ADD", [this](service::Call& c) { add(c); }, {1, 1, kSoakList + 64}}}),
        books_(books) {}

 private:
  void add(service::Call& call) {
    protocol::StreamReader& args = call.arguments();
    SoakAdd asked;
    asked.id = args.u32();
    asked.result = args.u32();
    asked.list = args.u32();
    const wire::Bytes argument = args.opaque(kSoakBulk);
    if (!args.at_end() || asked.result > kSoakBulk || asked.list > kSoakList) {
      ++books_.wrong_arguments;
      return (void)call.fail(service::CallError::kGarbageArgs);
    }
    if (!is_soak(asked.id, argument)) ++books_.wrong_arguments;
    books_.execute(asked.id);
    const std::uint32_t padded = (asked.list + 3) & ~3U;
    head_.assign(12 + padded, 0);
    wire::store_be32(head_.data(), asked.id);
    wire::store_be32(head_.data() + 4, asked.list);
    fill_soak(asked.id + 1, std::span(head_).subspan(8, asked.list));
    wire::store_be32(head_.data() + 8 + padded, asked.result);
    data_.resize(asked.result);
    fill_soak(asked.id + 2, data_);
    const std::array<protocol::Piece, 2> pieces{protocol::Piece{head_, nullptr, false},
                                                protocol::Piece{data_, nullptr, true}};
    (void)call.reply(pieces);
  }

  SoakBooks& books_;
  std::vector<std::uint8_t> head_, data_;  // kept, so that a Call needs no new memory
};

}  // namespace rpcrdma::testing
