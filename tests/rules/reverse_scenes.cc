#include "registry.h"

namespace rpcrdma::scenes {

void add_reverse_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
