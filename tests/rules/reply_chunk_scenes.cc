#include "registry.h"

namespace rpcrdma::scenes {

void add_reply_chunk_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
