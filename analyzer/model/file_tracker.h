// Follows the current file through the steps of NFS and MOUNT Calls and Replies, and learns which
// file handle has which name.
#pragma once

#include "file_table.h"

#include <cstdint>
#include <span>
#include <string>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/file_use.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/model/predecode.h>

namespace rpcrdma::model {

class FileTracker {
 public:
  // Whether the arguments of its Calls name files.
  [[nodiscard]] static bool is_of_files(const RpcInfo& rpc);

  // `args` and `removed` are those of decode::parse_compound_call(), and `rpc.ops` its result.
  // `server` distinguishes servers: handles have a meaning on one only.
  void note_call(FileUse& use, const RpcInfo& rpc, std::uint64_t server, wire::Bytes args,
                 std::span<const decode::Removed> removed, std::uint32_t padded_from);

  // The same, with the items that its arguments have.
  void note_call(FileUse& use, const RpcInfo& rpc, std::uint64_t server, wire::Bytes args,
                 const KeptItems& items);

  // The results of an accepted Reply to it. `rpc`: of the Reply, with its status.
  void note_reply(FileUse& use, const RpcInfo& rpc, wire::Bytes results,
                  std::span<const std::uint64_t> chunk_lengths);

 private:
  friend class CallFold;
  friend class ReplyFold;

  // The current file, or the saved one.
  struct Place {
    bool known = false;
    bool root = false;  // `base` is the root of the server
    FileRef base;
    std::string below;  // the path from `base` on: names that were looked up, without their handles
    unsigned version = 0;  // grows when the place changes

    void move_to(FileRef file) {
      known = true;
      root = false;
      base = file;
      below.clear();
    }
  };
  struct State {
    Place current, saved, about;
  };
  void run(const FileUse& use, const FileUse::Step& step, State& state);
  void apply(const FileUse& use, const FileUse::Step& step, const State& state);
  void describe(const Place& about, bool with_child, FileUse& use);
  // `hash`: of the handle.
  void resolve(Place& place, std::uint64_t server, wire::Bytes handle, std::uint32_t hash);

  FileTable table_;
};

}  // namespace rpcrdma::model
