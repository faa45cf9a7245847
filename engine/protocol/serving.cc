#include "serving.h"

#include <initializer_list>

namespace rpcrdma::protocol {

void Serving::give_blocks(MemoryPool& pool) {
  for (Block* b : {&received, &pulled.block, &send, &copies}) {
    if (*b) pool.give(*b);
    *b = {};
  }
}

}  // namespace rpcrdma::protocol
