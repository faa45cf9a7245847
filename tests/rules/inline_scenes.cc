#include "registry.h"

namespace rpcrdma::scenes {

void add_inline_scenes(Scenes& scenes) {
  (void)scenes;
}

}  // namespace rpcrdma::scenes
