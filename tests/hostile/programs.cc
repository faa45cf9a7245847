#include "programs.h"

#include "../rules/bodies.h"

#include <vector>

namespace rpcrdma::hostile {

namespace {

using protocol::Piece;
using scenes::Bytes;
using service::Call;
using service::CallError;

constexpr std::size_t kReplyHeader = 24;  // RPC, AUTH_NONE
constexpr std::uint32_t kMost = 65536;    // bytes of data

void reply(Call& call, const Bytes& rpc_reply) {
  const Piece results{wire::Bytes(rpc_reply).subspan(kReplyHeader), nullptr, false};
  (void)call.reply({&results, 1});
}

void plain(Call& call) {
  reply(call, scenes::rpc_reply(0, Bytes(16, 0x22)));
}

void getattr(Call& call) {
  (void)call.arguments().opaque(64);
  if (!call.arguments().ok()) return (void)call.fail(CallError::kGarbageArgs);
  reply(call, scenes::nfs3::getattr_reply(0));
}

void read(Call& call) {
  (void)call.arguments().opaque(64);
  (void)call.arguments().u64();
  const std::uint32_t count = call.arguments().u32();
  if (!call.arguments().ok() || count > kMost) return (void)call.fail(CallError::kGarbageArgs);
  const auto block = call.acquire(count);
  if (!block) return (void)call.fail(CallError::kSystemError);
  const Bytes data = scenes::pattern(count);
  std::copy(data.begin(), data.end(), block->data);
  const Bytes rpc = scenes::nfs3::read_reply(0, count).rpc;
  const std::vector<Piece> pieces{{wire::Bytes(rpc).subspan(kReplyHeader), nullptr, false},
                                  {{block->data, count}, block->memory, true}};
  (void)call.reply(pieces);
}

void write(Call& call) {
  protocol::StreamReader& arguments = call.arguments();
  (void)arguments.opaque(64);
  (void)arguments.u64();
  const std::uint32_t count = arguments.u32();
  (void)arguments.u32();
  if (arguments.opaque(kMost).size() != count || !arguments.at_end()) {
    return (void)call.fail(CallError::kGarbageArgs);
  }
  reply(call, scenes::nfs3::write_reply(0, count));
}

void readdir(Call& call) {
  (void)call.arguments().opaque(64);
  (void)call.arguments().u64();
  (void)call.arguments().u64();
  const std::uint32_t count = call.arguments().u32();
  if (!call.arguments().ok() || count > kMost) return (void)call.fail(CallError::kGarbageArgs);
  reply(call, scenes::nfs3::readdir_reply(0, count));
}

}  // namespace

std::unique_ptr<service::Program> plain_program() {
  return std::make_unique<service::Program>(
      scenes::kPlainProgram, 1, "plain",
      std::vector<service::Procedure>{{1, "PLAIN", plain, {.arguments = 4}, true}});
}

std::unique_ptr<service::Program> nfs_program() {
  return std::make_unique<service::Program>(
      scenes::kNfs, 3, "nfs",
      std::vector<service::Procedure>{{1, "GETATTR", getattr, {.arguments = 1}, true},
                                      {6, "READ", read, {.results = 1}, true},
                                      {7, "WRITE", write, {.arguments = 1}, true},
                                      {16, "READDIR", readdir, {}, true}});
}

}  // namespace rpcrdma::hostile
