#include "registry.h"

namespace rpcrdma::scenes {

void add_invalidation_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
