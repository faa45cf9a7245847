#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kCall:
      return "call";
    case Kind::kReply:
      return "reply";
    case Kind::kError:
      return "error";
    case Kind::kDone:
      return "done";
    case Kind::kOption:
      return "option";
    case Kind::kMalformed:
      return "malformed";
  }
  return "unknown";
}

const char* chunk_list_name(ChunkList list) {
  switch (list) {
    case ChunkList::kRead:
      return "read";
    case ChunkList::kWrite:
      return "write";
    case ChunkList::kReply:
      return "reply";
  }
  return "unknown";
}

}  // namespace rpcrdma::model
