#include "served_call.h"

#include <initializer_list>

namespace rpcrdma::protocol {

void ServedCall::give_blocks(MemoryPool& pool) {
  for (Block* b : {&received, &pulled.block, &send, &copies}) {
    if (*b) pool.release(*b);
    *b = {};
  }
}

}  // namespace rpcrdma::protocol
